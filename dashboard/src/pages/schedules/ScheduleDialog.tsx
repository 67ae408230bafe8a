import { ChevronRight } from 'lucide-react';
import { useId, useState, type FormEvent, type ReactNode } from 'react';
import type { Schedule, ScheduleSpec } from '@/api/documents';
import { ApiError, isStatus } from '@/api/problem';
import { useCreateSchedule, usePreview, useReplaceSchedule } from '@/api/schedules';
import { useAllows } from '@/api/session';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/ErrorState';
import { Checkbox, Field, Input } from '@/components/Field';
import { toast } from '@/components/toasts';
import { below, elsewhere, isPlaceless, stillWrong } from '@/pages/submit/mistakes';
import { RunFields } from '@/pages/submit/RunFields';
import { isAimed, writtenOf } from '@/pages/submit/spec';
import { FIELDS as JOB_FIELDS } from '@/pages/submit/SubmitPage';
import { TargetFields } from '@/pages/submit/TargetFields';
import { ChangedMeanwhile } from './ChangedMeanwhile';
import { PreviewPane } from './PreviewPane';
import {
  draftOfSchedule,
  newDraft,
  previewOf,
  saysWhen,
  scheduleOf,
  type ScheduleDraft,
} from './scheduleDraft';
import { PolicyFields, TimeFields } from './TimeFields';
import { useSettled } from './useSettled';

const FIELDS = [
  '/name',
  '/cron',
  '/every',
  '/at',
  '/timezone',
  '/start_at',
  '/end_at',
  '/jitter',
  '/missed',
  '/missed_max',
  '/overlap',
  '/dst_gap',
  '/dst_overlap',
  ...JOB_FIELDS.map((pointer) => `/job${pointer}`),
];

/** How long somebody has to stop typing before the server is asked what it would mean. */
export const PREVIEW_AFTER_MS = 250;

interface FormProps {
  title: string;
  confirm: string;
  start: ScheduleDraft;
  /** It is there already: its name cannot change, and hidden values stand for those that are kept. */
  isEdit?: boolean;
  isBusy: boolean;
  error: unknown;
  sent: ScheduleSpec | undefined;
  notice?: ReactNode;
  onSave: (spec: ScheduleSpec) => void;
  onClose: () => void;
}

function ScheduleForm({
  title,
  confirm,
  start,
  isEdit = false,
  isBusy,
  error,
  sent,
  notice,
  onSave,
  onClose,
}: FormProps) {
  const form = useId();
  const [draft, setDraft] = useState(start);
  const mayCommand = useAllows('exec:command');
  const asked = useSettled({ fields: previewOf(draft), isReady: saysWhen(draft) }, PREVIEW_AFTER_MS);
  const preview = usePreview(asked.fields, 5, asked.isReady);
  const { spec, mistakes: typed } = scheduleOf(draft);
  const mistakes = {
    ...(asked.isReady ? stillWrong(preview.error, asked.fields, previewOf(draft)) : {}),
    ...stillWrong(error, sent, spec),
    ...typed,
  };
  const unplaced = elsewhere(mistakes, FIELDS);
  const isWhole = draft.name.trim() !== '' && saysWhen(draft) && isAimed(writtenOf(draft.job));
  const change = (part: Partial<ScheduleDraft>) => setDraft((before) => ({ ...before, ...part }));
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (isWhole && Object.keys(typed).length === 0 && !isBusy) onSave(spec);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      size="large"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            variant="primary"
            busy={isBusy}
            disabled={!isWhole || Object.keys(typed).length > 0}
          >
            {confirm}
          </Button>
        </>
      }
    >
      <form
        id={form}
        onSubmit={save}
        noValidate
        className="grid items-start gap-x-5 gap-y-4 lg:grid-cols-[minmax(0,1fr)_minmax(0,19rem)]"
      >
        <div className="min-w-0 space-y-5">
          {notice}
          <Field
            label="Name"
            error={mistakes['/name']}
            {...(isEdit ? { hint: 'The name cannot be changed.' } : {})}
          >
            <Input
              required
              disabled={isEdit}
              placeholder="nightly-report"
              value={draft.name}
              onChange={(event) => change({ name: event.target.value })}
              autoComplete="off"
              spellCheck={false}
            />
          </Field>
          <TimeFields draft={draft} onChange={change} mistakes={mistakes} />
        </div>
        {/* Beside all of it where there is room; on a phone right below the time that it is about. */}
        <div className="min-w-0 space-y-3 lg:sticky lg:top-0 lg:col-start-2 lg:row-span-2 lg:row-start-1">
          <PreviewPane
            preview={asked.isReady ? preview.data : undefined}
            isLoading={asked.isReady && preview.isFetching}
            isWrong={asked.isReady && preview.error instanceof ApiError}
          />
        </div>
        <div className="min-w-0 space-y-5">
          <Section title="The job that each fire creates">
            <TargetFields
              draft={draft.job}
              onChange={(part) => change({ job: { ...draft.job, ...part } })}
              mistakes={below(mistakes, '/job')}
              mayCommand={mayCommand}
            />
            {isEdit && (
              <p className="text-xs text-faint">
                Values shown as *** are kept as they are unless you write others.
              </p>
            )}
            <RunFields
              draft={draft.job}
              onChange={(part) => change({ job: { ...draft.job, ...part } })}
              mistakes={below(mistakes, '/job')}
              isTemplate
            />
          </Section>
          <Fold title="Missed fires, overlaps and time changes">
            <PolicyFields draft={draft} onChange={change} mistakes={mistakes} />
          </Fold>
          <Checkbox
            label="Paused: does not fire until it is resumed"
            checked={draft.paused}
            onChange={(event) => change({ paused: event.target.checked })}
          />
          {isPlaceless(error) && !isStatus(error, 412) && <ErrorNote error={error} />}
          {unplaced.map((text) => (
            <p key={text} role="alert" className="text-sm text-bad">
              {text}
            </p>
          ))}
        </div>
      </form>
    </Dialog>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="space-y-4 border-t pt-4">
      <h3 className="text-sm font-semibold">{title}</h3>
      {children}
    </section>
  );
}

function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="group rounded-md border">
      <summary className="flex h-9 list-none items-center gap-2 rounded-md px-3 text-sm font-medium hover:bg-hover [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
        {title}
      </summary>
      <div className="border-t p-3">{children}</div>
    </details>
  );
}

export function CreateScheduleDialog({ onClose }: { onClose: () => void }) {
  const create = useCreateSchedule();
  const [start] = useState(() => newDraft(Intl.DateTimeFormat().resolvedOptions().timeZone));
  return (
    <ScheduleForm
      title="New schedule"
      confirm="Create"
      start={start}
      isBusy={create.isPending}
      error={create.error}
      sent={create.variables}
      onSave={(spec) =>
        create.mutate(spec, {
          onSuccess: () => {
            toast.done('Schedule created', 'It fires from its next time on.');
            onClose();
          },
        })
      }
      onClose={onClose}
    />
  );
}

interface EditScheduleDialogProps {
  /** As it is now: it may change while somebody edits. */
  current: { data: Schedule; etag: string | null };
  onClose: () => void;
}

export function EditScheduleDialog({ current, onClose }: EditScheduleDialogProps) {
  const [base, setBase] = useState(current);
  const replace = useReplaceSchedule(current.data.id);
  const isBehind = current.data.version !== base.data.version;
  return (
    <ScheduleForm
      // Theirs is taken: the form begins anew.
      key={base.data.version}
      title={`Edit ${base.data.name}`}
      confirm={isBehind ? 'Overwrite' : 'Save'}
      start={draftOfSchedule(base.data)}
      isEdit
      isBusy={replace.isPending}
      error={replace.error}
      sent={replace.variables?.spec}
      notice={
        (isBehind || isStatus(replace.error, 412)) && (
          <ChangedMeanwhile
            before={base.data}
            now={current.data}
            onTake={() => {
              replace.reset();
              setBase(current);
            }}
          />
        )
      }
      onSave={(spec) =>
        replace.mutate(
          // Whoever saves after having been told saves over what is there now.
          { spec, etag: isBehind ? current.etag : base.etag },
          {
            onSuccess: () => {
              toast.done('Schedule saved');
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    />
  );
}
