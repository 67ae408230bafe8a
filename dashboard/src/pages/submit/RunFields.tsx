import { ChevronRight } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { Field, Input, Select } from '@/components/Field';
import { useQueues } from '@/api/queues';
import { Segmented } from '@/components/Segmented';
import type { JobDraft, When } from './draft';
import type { DraftProps } from './TargetFields';

const WHENS: { value: When; label: string }[] = [
  { value: 'now', label: 'Now' },
  { value: 'delay', label: 'After a delay' },
  { value: 'at', label: 'At a time' },
];

interface RunFieldsProps extends DraftProps {
  /** A schedule says when by itself, and makes every job anew. */
  isTemplate?: boolean;
}

/** Where, when and how often the job is tried. */
export function RunFields({ draft, onChange, mistakes, isTemplate = false }: RunFieldsProps) {
  return (
    <div className="space-y-4">
      <div className="grid gap-3 sm:grid-cols-2">
        <QueueField draft={draft} onChange={onChange} mistakes={mistakes} />
        <Field label="Priority" error={mistakes['/priority']}>
          <Select
            value={draft.priority}
            onChange={(event) => onChange({ priority: event.target.value as JobDraft['priority'] })}
          >
            <option value="">normal</option>
            <option value="high">high: before the others</option>
            <option value="low">low: after the others</option>
          </Select>
        </Field>
      </div>
      {!isTemplate && <WhenFields draft={draft} onChange={onChange} mistakes={mistakes} />}
      <More open={hasMore(draft, mistakes)}>
        <MoreFields draft={draft} onChange={onChange} mistakes={mistakes} isTemplate={isTemplate} />
      </More>
    </div>
  );
}

function QueueField({ draft, onChange, mistakes }: DraftProps) {
  const queues = useQueues().data?.items ?? [];
  return (
    <Field label="Queue" error={mistakes['/queue']}>
      <Input
        placeholder="default"
        list="queues-that-exist"
        value={draft.queue}
        onChange={(event) => onChange({ queue: event.target.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id="queues-that-exist">
        {queues.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
    </Field>
  );
}

function WhenFields({ draft, onChange, mistakes }: DraftProps) {
  return (
    <div className="flex flex-wrap items-start gap-3">
      <div>
        <p aria-hidden className="mb-1 text-xs font-medium text-muted">
          When
        </p>
        <Segmented label="When" value={draft.when} options={WHENS} onChange={(when) => onChange({ when })} />
      </div>
      {draft.when === 'delay' && (
        <Field
          label="Delay"
          className="min-w-32 flex-1"
          error={mistakes['/delay']}
          hint="Such as 90s or 1h30m."
        >
          <Input
            required
            placeholder="5m"
            value={draft.delay}
            onChange={(event) => onChange({ delay: event.target.value })}
          />
        </Field>
      )}
      {draft.when === 'at' && (
        <Field
          label="Run at"
          className="min-w-48 flex-1"
          error={mistakes['/run_at']}
          hint="In your local time."
        >
          <Input
            required
            type="datetime-local"
            step={1}
            value={draft.runAt}
            onChange={(event) => onChange({ runAt: event.target.value })}
          />
        </Field>
      )}
    </div>
  );
}

function More({ open, children }: { open: boolean; children: ReactNode }) {
  // A mistake inside opens it; nothing but a person closes it.
  const [chosen, setChosen] = useState(false);
  return (
    <details
      open={open || chosen}
      onToggle={(event) => setChosen(event.currentTarget.open)}
      className="group rounded-md border"
    >
      <summary className="flex h-9 list-none items-center gap-2 rounded-md px-3 text-sm font-medium hover:bg-hover [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
        More: retries, labels, callback
      </summary>
      <div className="grid gap-3 border-t p-3 sm:grid-cols-2">{children}</div>
    </details>
  );
}

const MORE = [
  '/max_attempts',
  '/timeout',
  '/backoff',
  '/kind',
  '/tags',
  '/correlation_id',
  '/idempotency_key',
  '/callback_url',
];

function hasMore(draft: JobDraft, mistakes: DraftProps['mistakes']): boolean {
  const typed = [
    draft.maxAttempts,
    draft.timeout,
    draft.backoffBase,
    draft.backoffFactor,
    draft.backoffCap,
    draft.kind,
    draft.tags,
    draft.correlationId,
    draft.idempotencyKey,
    draft.callbackUrl,
  ];
  const isWrong = Object.keys(mistakes).some((pointer) => MORE.some((each) => pointer.startsWith(each)));
  return isWrong || typed.some((text) => text !== '');
}

interface Wanted {
  name: Exclude<keyof JobDraft, 'headers' | 'env' | 'rest' | 'isShell'>;
  label: string;
  pointer: string;
  placeholder: string;
  hint?: string;
  once?: boolean;
  wide?: boolean;
}

const WANTED: Wanted[] = [
  {
    name: 'maxAttempts',
    label: 'Maximum attempts',
    pointer: '/max_attempts',
    placeholder: 'default',
    hint: 'URL 8, command 3, task 25.',
  },
  { name: 'timeout', label: 'Timeout per attempt', pointer: '/timeout', placeholder: '30s' },
  {
    name: 'backoffBase',
    label: 'Wait before the second attempt',
    pointer: '/backoff/base',
    placeholder: '10s',
  },
  {
    name: 'backoffFactor',
    label: 'Factor for each further wait',
    pointer: '/backoff/factor',
    placeholder: '3',
  },
  { name: 'backoffCap', label: 'Longest wait', pointer: '/backoff/cap', placeholder: '1h' },
  { name: 'kind', label: 'Kind', pointer: '/kind', placeholder: 'order-mail', hint: 'A label to filter by.' },
  { name: 'tags', label: 'Tags', pointer: '/tags', placeholder: 'eu, spring', hint: 'Separated by commas.' },
  {
    name: 'correlationId',
    label: 'Correlation id',
    pointer: '/correlation_id',
    placeholder: 'order-42',
    hint: 'Groups related jobs.',
  },
  {
    name: 'idempotencyKey',
    label: 'Idempotency key',
    pointer: '/idempotency_key',
    placeholder: 'order-42-mail',
    hint: 'Submitting the same key twice within a day creates one job.',
    once: true,
  },
  {
    name: 'callbackUrl',
    label: 'Callback URL',
    pointer: '/callback_url',
    placeholder: 'https://example.com/done',
    hint: 'Receives a signed message when the job is final.',
  },
];

function MoreFields({ draft, onChange, mistakes, isTemplate }: RunFieldsProps) {
  return WANTED.filter(({ once }) => isTemplate !== true || once !== true).map(
    ({ name, label, pointer, placeholder, hint }) => (
      <Field key={name} label={label} error={mistakes[pointer]} {...(hint === undefined ? {} : { hint })}>
        <Input
          placeholder={placeholder}
          value={draft[name]}
          onChange={(event) => onChange({ [name]: event.target.value })}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
    ),
  );
}
