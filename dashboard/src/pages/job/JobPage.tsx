import { Link, useParams } from '@tanstack/react-router';
import { ChevronLeft, SearchX } from 'lucide-react';
import type { Job } from '@/api/documents';
import { useJob } from '@/api/jobs';
import { isStatus } from '@/api/problem';
import { buttonClass } from '@/components/Button';
import { Card } from '@/components/Card';
import { CopyButton } from '@/components/CopyButton';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { targetText } from '@/components/jobText';
import { PageHeader } from '@/components/PageHeader';
import { Skeleton, SkeletonRows } from '@/components/Skeleton';
import { StateBadge } from '@/components/StateBadge';
import { Facts } from './Facts';
import { JobActions } from './JobActions';
import { LiveOutput } from './LiveOutput';
import { Request } from './Request';
import { Standing } from './Standing';
import { Timeline } from './Timeline';

export function JobPage() {
  const { id } = useParams({ from: '/jobs/$id' });
  const job = useJob(id);
  return (
    <>
      <Link
        to="/jobs"
        className="mb-2 inline-flex items-center gap-1 text-xs font-medium text-muted hover:text-ink"
      >
        <ChevronLeft aria-hidden className="size-3.5" />
        Jobs
      </Link>
      {job.data !== undefined ? (
        <Shown job={job.data} />
      ) : isStatus(job.error, 400, 404) ? (
        <NoSuchJob id={id} />
      ) : job.error !== null ? (
        <>
          <PageHeader title="Job" />
          <ErrorState error={job.error} retry={() => void job.refetch()} />
        </>
      ) : (
        <Loading />
      )}
    </>
  );
}

function Shown({ job }: { job: Job }) {
  const name = job.kind ?? targetText(job);
  return (
    <>
      <PageHeader
        title={name}
        shown={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="min-w-0 break-words">{name}</span>
            <StateBadge state={job.state} />
          </span>
        }
        note={
          <span className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 font-mono text-xs break-all">{job.id}</code>
            <CopyButton text={job.id} label="Copy the id" />
          </span>
        }
        actions={<JobActions job={job} />}
      />
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0 space-y-4">
          <Standing job={job} />
          {job.state === 'running' && isCommand(job) && <LiveOutput key={job.attempt} id={job.id} />}
          <Timeline job={job} />
          <Request job={job} />
        </div>
        <div className="min-w-0">
          <Facts job={job} />
        </div>
      </div>
    </>
  );
}

function isCommand({ command }: Job): boolean {
  return command !== null && command !== undefined;
}

function NoSuchJob({ id }: { id: string }) {
  return (
    <>
      <PageHeader title="No such job" />
      <Card>
        <EmptyState
          icon={SearchX}
          title="There is no job with this id"
          action={
            <div className="flex justify-center">
              <Link to="/jobs" className={buttonClass()}>
                Go to the list of jobs
              </Link>
            </div>
          }
        >
          <code className="font-mono text-xs break-all">{id}</code>
          <p className="mt-1">
            It was deleted, its retention period is over, or it belongs to another tenant.
          </p>
        </EmptyState>
      </Card>
    </>
  );
}

function Loading() {
  return (
    <div role="status" aria-label="Loading the job" className="space-y-4">
      <Skeleton className="h-7 w-64" />
      <Card>
        <SkeletonRows rows={5} label="Loading its attempts" />
      </Card>
    </div>
  );
}
