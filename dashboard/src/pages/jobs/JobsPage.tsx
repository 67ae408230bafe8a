import { useNavigate, useSearch } from '@tanstack/react-router';
import { clsx } from 'clsx';
import { ArrowUp, Rows3, SearchX } from 'lucide-react';
import { useMemo, useState } from 'react';
import { PAGE } from '@/api/jobs';
import { useOverview } from '@/api/overview';
import { useAllows } from '@/api/session';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { plural } from '@/components/numbers';
import { PageHeader } from '@/components/PageHeader';
import { Pager } from '@/components/Pager';
import { SkeletonRows } from '@/components/Skeleton';
import { toast } from '@/components/toasts';
import { FirstJob } from '@/pages/overview/FirstJob';
import { BulkBar } from './BulkBar';
import { BulkDialog, type Bulk } from './BulkDialog';
import { Filters } from './Filters';
import { JobsTable } from './JobsTable';
import { filterOf, isFiltered, type JobsSearch } from './search';
import { StateFilter } from './StateFilter';
import { useSelection } from './useSelection';
import { useStillJobs } from './useStillJobs';

export function JobsPage() {
  const search = useSearch({ from: '/jobs' });
  const navigate = useNavigate({ from: '/jobs' });
  const canWrite = useAllows('jobs:write');
  const states = useOverview().data?.states;
  const filter = useMemo(() => filterOf(search), [search]);
  const selection = useSelection(JSON.stringify(filter));
  const [isTouched, setTouched] = useState(false);
  const { still, isCurrent, query, showNew } = useStillJobs(
    filter,
    search.cursor,
    isTouched || selection.count > 0,
  );
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const [trail, setTrail] = useState<string[]>([]);

  const choose = (next: Partial<JobsSearch>) => {
    setTrail([]);
    void navigate({ search: (before) => ({ ...before, ...next, cursor: undefined }) });
  };
  const turn = (cursor: string | undefined) => {
    selection.clear();
    scrollTo({ top: 0 });
    void navigate({ search: (before) => ({ ...before, cursor }) });
  };
  const next = still?.next;
  const rows = still?.rows ?? [];

  return (
    <>
      <PageHeader title="Jobs" note="Newest first. Updates live." />
      <div className="space-y-3">
        <SkipFilters />
        <StateFilter chosen={search.state} states={states} onChoose={(state) => choose({ state })} />
        <Filters search={search} onChoose={choose} />
        <Card flush className="relative">
          {canWrite && selection.count > 0 && (
            <BulkBar
              selection={selection}
              rows={rows}
              filter={filter}
              onDo={(verb) =>
                setBulk(
                  selection.isAllMatching
                    ? { verb, of: { filter } }
                    : { verb, of: { jobs: rows.filter((job) => selection.has(job.id)) } },
                )
              }
            />
          )}
          {still !== null && still.waiting > 0 && (
            <div className="flex justify-center border-b bg-accent-soft py-1">
              <Button
                variant="ghost"
                size="sm"
                icon={ArrowUp}
                className="text-accent!"
                onClick={() =>
                  showNew().catch((error: unknown) => toast.failed('Could not load the new jobs', error))
                }
              >
                {plural(still.waiting, 'new job')}
                {still.waiting >= PAGE * 9 ? ' or more' : ''}
              </Button>
            </div>
          )}
          {query.error !== null && query.data === undefined ? (
            <ErrorState error={query.error} retry={() => void query.refetch()} />
          ) : still === null ? (
            <SkeletonRows rows={12} label="Loading jobs" />
          ) : rows.length === 0 ? (
            <Nothing search={search} onClear={() => void navigate({ search: {} })} />
          ) : (
            // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- it only notices a hand on the table
            <div
              className={clsx('transition-opacity', !isCurrent && 'opacity-60')}
              aria-busy={!isCurrent}
              onPointerEnter={(event) => event.pointerType === 'mouse' && setTouched(true)}
              onPointerLeave={() => setTouched(false)}
            >
              <JobsTable rows={rows} selection={canWrite ? selection : null} />
            </div>
          )}
          <Pager
            label="Pages of jobs"
            onPrevious={
              search.cursor === undefined
                ? undefined
                : () => {
                    setTrail(trail.slice(0, -1));
                    turn(trail.at(-1) || undefined);
                  }
            }
            onNext={
              next === null || next === undefined
                ? undefined
                : () => {
                    setTrail([...trail, search.cursor ?? '']);
                    turn(next);
                  }
            }
          />
        </Card>
      </div>
      {bulk !== null && (
        <BulkDialog
          bulk={bulk}
          onClose={() => setBulk(null)}
          onDone={() => {
            setBulk(null);
            selection.clear();
            // What was asked for has changed what matches: nobody expects the old rows to stay.
            void showNew().catch(() => undefined);
          }}
        />
      )}
    </>
  );
}

/** For whoever goes by keyboard: every state and filter is a stop before the first job. */
function SkipFilters() {
  return (
    <button
      type="button"
      className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:rounded-md focus:bg-surface focus:px-3 focus:py-1.5 focus:shadow-high"
      onClick={() => document.querySelector<HTMLElement>('a[data-row]')?.focus()}
    >
      Skip to the first job
    </button>
  );
}

function Nothing({ search, onClear }: { search: JobsSearch; onClear: () => void }) {
  if (search.cursor !== undefined) {
    return <EmptyState icon={Rows3} title="This page is empty now" />;
  }
  if (!isFiltered(search)) return <FirstJob bare />;
  return (
    <EmptyState
      icon={SearchX}
      title="No job matches"
      action={
        <div className="flex justify-center">
          <Button onClick={onClear}>Clear all filters</Button>
        </div>
      }
    >
      New matching jobs appear here automatically.
    </EmptyState>
  );
}
