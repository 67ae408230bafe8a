import { Link } from '@tanstack/react-router';
import { useWorkerJobs } from '@/api/workers';
import { RunningFor } from '@/components/Duration';
import { ErrorNote } from '@/components/ErrorState';
import { Skeleton } from '@/components/Skeleton';

/** What one worker is at, right now. */
export function WorkerJobs({ worker }: { worker: string }) {
  const { data, error } = useWorkerJobs(worker, true);
  if (data === undefined)
    return error === null ? <Skeleton className="h-5 w-1/2" /> : <ErrorNote error={error} />;
  if (data.items.length === 0) return <p className="text-sm text-muted">Nothing: all its slots are free.</p>;
  return (
    <ul aria-label="Running jobs" className="divide-y text-sm">
      {data.items.map((job) => (
        <li key={job.id} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-1.5">
          <Link
            to="/jobs/$id"
            params={{ id: job.id }}
            className="font-mono text-xs text-accent hover:underline"
          >
            {job.id}
          </Link>
          <span className="font-medium">{job.kind ?? 'no kind'}</span>
          <span className="text-muted">in {job.queue}</span>
          {job.tenant !== 'default' && <span className="text-muted">of {job.tenant}</span>}
          <span className="ml-auto text-xs text-muted">
            attempt {job.attempt}, for <RunningFor since={job.started_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
