import { useNavigate, useSearch } from '@tanstack/react-router';
import { PartyPopper } from 'lucide-react';
import { useState } from 'react';
import type { FailureGroup, FailureState } from '@/api/documents';
import { useFailureGroups } from '@/api/failures';
import type { JobVerb } from '@/api/jobs';
import { useOverview } from '@/api/overview';
import { useAllows } from '@/api/session';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { plural } from '@/components/numbers';
import { PageHeader } from '@/components/PageHeader';
import { Segmented } from '@/components/Segmented';
import { SkeletonRows } from '@/components/Skeleton';
import { BulkDialog, type Bulk } from '@/pages/jobs/BulkDialog';
import { FailureGroupRow } from './FailureGroupRow';
import { readDeadSearch } from './search';

const STATES: { value: FailureState | 'both'; label: string }[] = [
  { value: 'both', label: 'Both' },
  { value: 'failed', label: 'Failed' },
  { value: 'dead', label: 'Dead' },
];

export function DeadPage() {
  const { state } = readDeadSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const groups = useFailureGroups(state);
  const states = useOverview().data?.states;
  const canWrite = useAllows('jobs:write');
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const items = groups.data?.items;
  const isComplete = groups.data?.complete ?? true;
  const doTo = ({ state: of = 'dead', group }: FailureGroup) =>
    // Without a group the filter would mean every job of the state.
    typeof group === 'string'
      ? (verb: JobVerb) => setBulk({ verb, of: { filter: { state: of, error_group: group } } })
      : undefined;
  const counts = (state === undefined ? (['failed', 'dead'] as const) : [state]).map(
    (each) => states?.[each],
  );
  const jobs = counts.reduce((sum, counted) => sum + (counted?.count ?? 0), 0);
  const isEstimate = counts.some((counted) => counted?.estimate === true);
  return (
    <>
      <PageHeader
        title="Dead letters"
        note="Jobs that failed with an error no retry can fix or expired, and jobs that used up all their attempts."
      />
      <Card
        flush
        title="By error"
        note={
          items !== undefined && items.length > 0 && jobs > 0
            ? `${plural(jobs, 'job')}${isEstimate ? ' or more' : ''} in ${plural(items.length, 'group')}${isComplete ? '' : ' or more'}`
            : undefined
        }
        actions={
          <Segmented
            label="State"
            value={state ?? 'both'}
            options={STATES}
            onChange={(chosen) =>
              void navigate({
                to: '/dead',
                search: chosen === 'both' ? {} : { state: chosen },
                replace: true,
              })
            }
          />
        }
      >
        {items !== undefined ? (
          items.length === 0 ? (
            <Nothing state={state} />
          ) : (
            <>
              <ul className="divide-y">
                {items.map((group) => (
                  <FailureGroupRow
                    key={`${group.state} ${group.group ?? 'ungrouped'}`}
                    group={group}
                    onDo={canWrite ? doTo(group) : undefined}
                  />
                ))}
              </ul>
              {!isComplete && (
                <p className="border-t px-4 py-3 text-sm text-muted">
                  There are more kinds of errors than are shown; the most frequent of the latest are.
                </p>
              )}
            </>
          )
        ) : groups.error !== null ? (
          <ErrorState error={groups.error} retry={() => void groups.refetch()} />
        ) : (
          <SkeletonRows rows={6} label="Loading dead letters" />
        )}
      </Card>
      {bulk !== null && <BulkDialog bulk={bulk} onClose={() => setBulk(null)} onDone={() => setBulk(null)} />}
    </>
  );
}

function Nothing({ state }: { state: FailureState | undefined }) {
  switch (state) {
    case 'failed':
      return (
        <EmptyState icon={PartyPopper} title="No job has failed">
          A job fails when its target gives a response that a retry would not change, such as 404, or when it
          expires before it starts.
        </EmptyState>
      );
    case 'dead':
      return (
        <EmptyState icon={PartyPopper} title="No job is dead">
          A job is dead when its last attempt has failed, or when three workers died while running it. It is
          kept until you retry or delete it.
        </EmptyState>
      );
    default:
      return (
        <EmptyState icon={PartyPopper} title="No job is failed or dead">
          Jobs that failed permanently are listed here, grouped by error. You can retry or delete them.
        </EmptyState>
      );
  }
}
