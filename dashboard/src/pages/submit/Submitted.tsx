import { Link } from '@tanstack/react-router';
import { useJob } from '@/api/jobs';
import { Card } from '@/components/Card';
import { RelativeTime } from '@/components/RelativeTime';
import { StateBadge } from '@/components/StateBadge';

/** What was submitted from here, with what becomes of it, live. */
export function Submitted({ ids }: { ids: string[] }) {
  if (ids.length === 0) return null;
  return (
    <Card title="Submitted from here" note="live" flush>
      <ul className="divide-y">
        {ids.map((id) => (
          <SubmittedJob key={id} id={id} />
        ))}
      </ul>
    </Card>
  );
}

function SubmittedJob({ id }: { id: string }) {
  const job = useJob(id).data;
  return (
    <li className="flex min-h-10 animate-flash flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5 text-sm">
      {job !== undefined && <StateBadge state={job.state} />}
      <Link
        to="/jobs/$id"
        params={{ id }}
        className="min-w-0 truncate font-mono text-xs text-accent hover:underline"
      >
        {id}
      </Link>
      <span className="ml-auto text-xs text-faint">
        <RelativeTime at={job?.finished_at ?? job?.created_at} />
      </span>
      {job?.error !== undefined && job.error !== null && (
        <p className="w-full truncate text-xs text-bad">{job.error}</p>
      )}
    </li>
  );
}
