import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Job } from '@/api/documents';
import { Card } from '@/components/Card';
import { DescriptionList } from '@/components/DescriptionList';
import { RelativeTime } from '@/components/RelativeTime';
import { SafeLink } from '@/components/SafeLink';

const LINK = 'text-accent hover:underline break-all';

export function Facts({ job }: { job: Job }) {
  const items: { name: string; value: ReactNode }[] = [
    {
      name: 'Queue',
      value: (
        <Link to="/jobs" search={{ queue: job.queue }} className={LINK}>
          {job.queue}
        </Link>
      ),
    },
  ];
  const add = (name: string, value: ReactNode, ...given: unknown[]) => {
    const [isThere] = given.length === 0 ? [value] : given;
    if (isThere !== null && isThere !== undefined && isThere !== '') items.push({ name, value });
  };
  add(
    'Kind',
    <Link to="/jobs" search={{ kind: job.kind ?? '' }} className={LINK}>
      {job.kind}
    </Link>,
    job.kind,
  );
  add('Priority', job.priority);
  add('Created', <RelativeTime at={job.created_at} />);
  add('Due', <RelativeTime at={job.run_at} />);
  add('Started', <RelativeTime at={job.started_at} />, job.started_at);
  add('Ended', <RelativeTime at={job.finished_at} />, job.finished_at);
  add('Attempts', `${job.spent} of ${job.max_attempts}`);
  add('Crashes', String(job.crashes), job.crashes > 0 ? job.crashes : null);
  add('Timeout', job.timeout);
  add(
    'Backoff',
    `${job.backoff?.base ?? ''} × ${job.backoff?.factor ?? ''}, at most ${job.backoff?.cap ?? ''}`,
    job.backoff,
  );
  add(
    'Correlation',
    <Link to="/jobs" search={{ correlation_id: job.correlation_id ?? '' }} className={LINK}>
      {job.correlation_id}
    </Link>,
    job.correlation_id,
  );
  add(
    'Tags',
    <span className="flex flex-wrap gap-1">
      {(job.tags ?? []).map((tag) => (
        <Link
          key={tag}
          to="/jobs"
          search={{ tag }}
          className="rounded-full bg-grey-soft px-2 text-xs break-all text-muted hover:text-accent"
        >
          {tag}
        </Link>
      ))}
    </span>,
    (job.tags ?? []).length > 0 ? job.tags : null,
  );
  add(
    'Schedule',
    <Link to="/schedules/$schedule" params={{ schedule: job.schedule ?? '' }} className={LINK}>
      {job.schedule}
    </Link>,
    job.schedule,
  );
  add('Tick', <RelativeTime at={job.scheduled_for} />, job.scheduled_for);
  add('Start by', <RelativeTime at={job.expires_at} />, job.expires_at);
  add('Callback', <SafeLink href={job.callback_url ?? ''} />, job.callback_url);
  add(
    'Idempotency',
    <code className="font-mono text-xs break-all">{job.idempotency_key}</code>,
    job.idempotency_key,
  );
  return (
    <Card title="Details">
      <DescriptionList items={items} />
    </Card>
  );
}
