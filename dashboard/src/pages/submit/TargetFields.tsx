import { Checkbox, Field, Input, Select, Textarea } from '@/components/Field';
import { Segmented } from '@/components/Segmented';
import { ContentField } from './ContentField';
import type { Content, JobDraft, Target } from './draft';
import { PairList } from './PairList';
import type { Mistakes } from './spec';

export interface DraftProps {
  draft: JobDraft;
  onChange: (part: Partial<JobDraft>) => void;
  mistakes: Mistakes;
}

const METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'HEAD'];

const TARGETS: { value: Target; label: string }[] = [
  { value: 'url', label: 'Call a URL' },
  { value: 'task', label: 'Run a task' },
  { value: 'command', label: 'Run a command' },
];

const SAYS: Record<Target, string> = {
  url: 'A worker sends the request. A 2xx response completes the job; 5xx, 429 and timeouts are retried.',
  task: 'A worker that has a handler for the task runs it. Without one the job waits.',
  command: 'A worker runs the program on its own machine. Exit code 0 completes the job.',
};

/** What the job does. */
export function TargetFields({
  draft,
  onChange,
  mistakes,
  mayCommand,
}: DraftProps & { /** Commands need a scope that few keys have. */ mayCommand: boolean }) {
  return (
    <div className="space-y-4">
      <div className="space-y-2">
        <Segmented
          label="What the job does"
          value={draft.target}
          options={TARGETS.filter(
            ({ value }) => value !== 'command' || mayCommand || draft.target === 'command',
          )}
          onChange={(target) => onChange({ target })}
        />
        <p className="text-xs text-faint">{SAYS[draft.target]}</p>
      </div>
      {draft.target === 'url' && <UrlFields draft={draft} onChange={onChange} mistakes={mistakes} />}
      {draft.target === 'task' && <TaskFields draft={draft} onChange={onChange} mistakes={mistakes} />}
      {draft.target === 'command' && <CommandFields draft={draft} onChange={onChange} mistakes={mistakes} />}
    </div>
  );
}

function UrlFields({ draft, onChange, mistakes }: DraftProps) {
  return (
    <>
      <div className="flex flex-wrap gap-3">
        <Field label="Method" className="w-24" error={mistakes['/method']}>
          <Select value={draft.method} onChange={(event) => onChange({ method: event.target.value })}>
            <option value="">POST</option>
            {METHODS.slice(1).map((method) => (
              <option key={method}>{method}</option>
            ))}
          </Select>
        </Field>
        <Field label="URL" className="min-w-40 flex-1" error={mistakes['/url']}>
          <Input
            type="url"
            required
            placeholder="https://example.com/hooks/order"
            value={draft.url}
            onChange={(event) => onChange({ url: event.target.value })}
            className="font-mono"
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
      </div>
      <PairList
        legend="Headers"
        one="Header"
        pairs={draft.headers}
        onChange={(headers) => onChange({ headers })}
        pointer="/headers"
        mistakes={mistakes}
        placeholders={['Authorization', 'Bearer …']}
      />
      <ContentField label="Body" draft={draft} onChange={onChange} mistakes={mistakes} kinds={CONTENTS} />
    </>
  );
}

const CONTENTS: { value: Content; label: string }[] = [
  { value: 'json', label: 'JSON' },
  { value: 'text', label: 'Text' },
];

function TaskFields({ draft, onChange, mistakes }: DraftProps) {
  return (
    <>
      <Field label="Task" error={mistakes['/task']} hint="The name of a handler in a worker.">
        <Input
          required
          placeholder="send-welcome"
          value={draft.task}
          onChange={(event) => onChange({ task: event.target.value })}
          className="font-mono"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <ContentField label="Payload" draft={draft} onChange={onChange} mistakes={mistakes} />
    </>
  );
}

function CommandFields({ draft, onChange, mistakes }: DraftProps) {
  return (
    <>
      <Field
        label={draft.isShell ? 'Command line' : 'Program and arguments, one per line'}
        error={mistakes['/command']}
      >
        <Textarea
          required
          rows={draft.isShell ? 2 : 4}
          placeholder={
            draft.isShell ? 'pg_dump shop | gzip > /backups/shop.gz' : '/usr/bin/rsync\n-a\n/data/'
          }
          value={draft.command}
          onChange={(event) => onChange({ command: event.target.value })}
          className="font-mono"
          spellCheck={false}
        />
      </Field>
      <Checkbox
        label="Through a shell (sh -c)"
        checked={draft.isShell}
        onChange={(event) => onChange({ isShell: event.target.checked })}
      />
      <Field
        label="Working directory"
        error={mistakes['/cwd']}
        hint="An absolute path on the worker's machine."
      >
        <Input
          placeholder="/srv/shop"
          value={draft.cwd}
          onChange={(event) => onChange({ cwd: event.target.value })}
          className="font-mono"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <PairList
        legend="Environment"
        one="Variable"
        pairs={draft.env}
        onChange={(env) => onChange({ env })}
        pointer="/env"
        mistakes={mistakes}
        placeholders={['NAME', 'value']}
      />
      <ContentField
        label="Standard input"
        draft={draft}
        onChange={onChange}
        mistakes={mistakes}
        kinds={CONTENTS}
      />
    </>
  );
}
