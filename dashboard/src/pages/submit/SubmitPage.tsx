import { useNavigate } from '@tanstack/react-router';
import { EyeOff, RotateCcw, Send } from 'lucide-react';
import { useState, type FormEvent } from 'react';
import { useAllows } from '@/api/session';
import { useSubmitText } from '@/api/submit';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { ErrorNote } from '@/components/ErrorState';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';
import { toast } from '@/components/toasts';
import { draftOf, EMPTY, type JobDraft } from './draft';
import { Equivalent } from './Equivalent';
import { useHandover, type Handover } from './handover';
import { maskedIn } from './masked';
import { elsewhere, isPlaceless, stillWrong } from './mistakes';
import { RunFields } from './RunFields';
import { isAimed, writtenOf, textOf } from './spec';
import { Submitted } from './Submitted';
import { TargetFields } from './TargetFields';

/** What the fields show by themselves; anything else is told above the button. */
export const FIELDS = [
  '/url',
  '/method',
  '/headers',
  '/payload',
  '/body',
  '/task',
  '/command',
  '/cwd',
  '/env',
  '/queue',
  '/priority',
  '/delay',
  '/run_at',
  '/max_attempts',
  '/timeout',
  '/backoff/base',
  '/backoff/factor',
  '/backoff/cap',
  '/kind',
  '/tags',
  '/correlation_id',
  '/idempotency_key',
  '/callback_url',
];

const KEPT = 8;

export function SubmitPage() {
  const may = useAllows('jobs:write');
  const handover = useHandover();
  const [submitted, setSubmitted] = useState<string[]>([]);
  return (
    <>
      <PageHeader
        title="Submit a job"
        note="Foreman stores it, runs it, and retries it if it fails. Only the target is required."
      />
      {may ? (
        <SubmitForm
          // Another job was handed over: the form begins anew.
          key={handover?.of ?? ''}
          handover={handover}
          submitted={submitted}
          onSubmitted={(id) =>
            setSubmitted((before) => [id, ...before.filter((each) => each !== id)].slice(0, KEPT))
          }
        />
      ) : (
        <EmptyState icon={EyeOff} title="This key is read-only">
          Submitting needs a key with the scope <code className="font-mono">jobs:write</code>.
        </EmptyState>
      )}
    </>
  );
}

interface SubmitFormProps {
  handover: Handover | null;
  submitted: string[];
  onSubmitted: (id: string) => void;
}

export function SubmitForm({ handover, submitted, onSubmitted }: SubmitFormProps) {
  const [draft, setDraft] = useState<JobDraft>(() => (handover === null ? EMPTY : draftOf(handover.spec)));
  const mayCommand = useAllows('exec:command');
  const navigate = useNavigate();
  const submit = useSubmitText();
  const written = writtenOf(draft);
  const masked = maskedIn(draft);
  const refused = stillWrong(submit.error, submit.variables?.spec, written.spec);
  const mistakes = { ...refused, ...written.mistakes, ...masked };
  const cannot = Object.keys(written.mistakes).length + Object.keys(masked).length > 0;
  const unplaced = elsewhere(mistakes, FIELDS);
  const change = (part: Partial<JobDraft>) => setDraft((before) => ({ ...before, ...part }));
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (cannot || submit.isPending) return;
    submit.mutate(
      { spec: written.spec, text: textOf(written) },
      {
        onSuccess: (job) => {
          onSubmitted(job.id);
          // The same key again would only find this job.
          change({ idempotencyKey: '' });
          const hint = job.hints?.[0]?.detail;
          toast.done('Job accepted', hint ?? `It is in the queue ${job.queue}.`, {
            label: 'Open it',
            run: () => void navigate({ to: '/jobs/$id', params: { id: job.id } }),
          });
        },
      },
    );
  };
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
      <form onSubmit={send} noValidate className="min-w-0 space-y-4">
        {handover !== null && <Prefilled of={handover.of} hidden={Object.keys(masked).length} />}
        <Card title="What it does">
          <TargetFields draft={draft} onChange={change} mistakes={mistakes} mayCommand={mayCommand} />
        </Card>
        <Card title="How it runs">
          <RunFields draft={draft} onChange={change} mistakes={mistakes} />
        </Card>
        {isPlaceless(submit.error) && <ErrorNote error={submit.error} />}
        {unplaced.map((text) => (
          <p key={text} role="alert" className="text-sm text-bad">
            {text}
          </p>
        ))}
        <div className="sticky bottom-14 z-10 -mx-4 flex items-center gap-3 border-t bg-bg px-4 py-3 md:static md:mx-0 md:border-0 md:p-0">
          <Button
            type="submit"
            variant="primary"
            icon={Send}
            busy={submit.isPending}
            disabled={cannot || !isAimed(written)}
          >
            Submit
          </Button>
          <Button variant="ghost" icon={RotateCcw} onClick={() => setDraft(EMPTY)} disabled={draft === EMPTY}>
            Start over
          </Button>
          {Object.keys(refused).length > 0 && (
            <p role="alert" className="text-sm text-bad">
              Not accepted: see the fields in red.
            </p>
          )}
        </div>
      </form>
      <aside aria-label="The same elsewhere" className="min-w-0 space-y-4 xl:sticky xl:top-6">
        <Submitted ids={submitted} />
        <Equivalent draft={draft} />
      </aside>
    </div>
  );
}

function Prefilled({ of, hidden }: { of: string | undefined; hidden: number }) {
  return (
    <p className="rounded-md bg-accent-soft px-3 py-2 text-sm text-accent">
      Filled in from {of === undefined ? 'a job' : <code className="font-mono">{of}</code>}. Submitting
      creates a new job; the original stays unchanged.
      {hidden > 0 && (
        <strong className="block font-semibold">
          {hidden === 1 ? 'One value was hidden' : `${hidden} values were hidden`} and must be typed again.
        </strong>
      )}
    </p>
  );
}
