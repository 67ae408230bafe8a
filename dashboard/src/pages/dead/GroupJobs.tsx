import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JobFilter, State } from '@/api/documents';
import { fetchJobs } from '@/api/jobs';
import { keys } from '@/api/keys';
import { ErrorState } from '@/components/ErrorState';
import { SkeletonRows } from '@/components/Skeleton';
import { JobsTable } from '@/pages/jobs/JobsTable';

const SHOWN = 10;

/** The latest of a group; the list of jobs has them all. */
export function GroupJobs({ state, group }: { state: State; group: string | null }) {
  // Those that ended before errors were grouped are found by their state alone.
  const filter: JobFilter = group === null ? { state } : { state, error_group: group };
  const jobs = useQuery({
    queryKey: [...keys.failures.all, 'jobs', state, group],
    queryFn: ({ signal }) => fetchJobs({ filter }, SHOWN, signal),
  });
  if (jobs.data === undefined) {
    return jobs.error === null ? (
      <SkeletonRows rows={3} label="Loading the group's jobs" />
    ) : (
      <ErrorState error={jobs.error} retry={() => void jobs.refetch()} />
    );
  }
  return (
    <div className="border-t bg-bg pl-4">
      <JobsTable rows={jobs.data.items} selection={null} label="Jobs of the group" hasKeys={false} />
      <p className="border-t px-3 py-2 text-xs">
        <Link
          to="/jobs"
          search={group === null ? { state } : { state, error_group: group }}
          className="text-accent hover:underline"
        >
          {group === null ? `Open all ${state} jobs` : 'Open all of this group'} in the list of jobs
        </Link>
      </p>
    </div>
  );
}
