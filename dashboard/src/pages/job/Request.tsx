import type { Job } from '@/api/documents';
import { Card } from '@/components/Card';
import { Code } from '@/components/Code';
import { JsonView } from '@/components/JsonView';
import { SafeLink } from '@/components/SafeLink';

/** What was asked for. Secrets come from the server as ***, and this page never had them. */
export function Request({ job }: { job: Job }) {
  const hasPayload = job.payload !== undefined && job.payload !== null;
  return (
    <Card title="What it does">
      <div className="space-y-4">
        <Target job={job} />
        <Pairs label="Headers" pairs={job.headers} />
        <Pairs label="Environment" pairs={job.env} />
        {hasPayload && (
          <Part name="Payload">
            <JsonView label="Payload" value={job.payload} />
          </Part>
        )}
        {typeof job.body === 'string' && (
          <Part name="Body">
            <Code label="Body" text={job.body} wrap />
          </Part>
        )}
      </div>
    </Card>
  );
}

function Target({ job }: { job: Job }) {
  if (typeof job.url === 'string') {
    return (
      <p className="text-sm">
        <span className="mr-2 rounded bg-grey-soft px-1.5 py-0.5 font-mono text-xs font-medium">
          {job.method ?? 'POST'}
        </span>
        <SafeLink href={job.url} />
      </p>
    );
  }
  if (typeof job.task === 'string') {
    return (
      <p className="text-sm">
        The task <code className="font-mono">{job.task}</code>, run by a worker that pulls.
      </p>
    );
  }
  const text = Array.isArray(job.command) ? job.command.map(shown).join(' ') : (job.command ?? '');
  return (
    <Part name={typeof job.cwd === 'string' ? `Command, in ${job.cwd}` : 'Command'}>
      <Code label="Command" text={text} wrap />
    </Part>
  );
}

/** So that one sees where one word ends and the next begins. */
function shown(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

function Pairs({ label, pairs }: { label: string; pairs: Record<string, string> | null | undefined }) {
  const entries = Object.entries(pairs ?? {});
  if (entries.length === 0) return null;
  return (
    <Part name={label}>
      <dl className="divide-y rounded-md border bg-sunken font-mono text-xs">
        {entries.map(([name, value]) => (
          <div key={name} className="flex flex-wrap gap-x-3 px-3 py-1.5">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-all">
              {value}
              {value === '***' && <span className="ml-2 font-sans text-faint">hidden</span>}
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

function Part({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-medium text-muted">{name}</h3>
      {children}
    </section>
  );
}
