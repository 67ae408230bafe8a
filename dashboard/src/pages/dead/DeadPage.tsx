import { PartyPopper } from 'lucide-react';
import { useState } from 'react';
import { useDeadGroups } from '@/api/dead';
import type { DeadGroup } from '@/api/documents';
import type { JobVerb } from '@/api/jobs';
import { useOverview } from '@/api/overview';
import { useAllows } from '@/api/session';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { plural } from '@/components/numbers';
import { PageHeader } from '@/components/PageHeader';
import { SkeletonRows } from '@/components/Skeleton';
import { BulkDialog, type Bulk } from '@/pages/jobs/BulkDialog';
import { DeadGroupRow } from './DeadGroupRow';

export function DeadPage() {
  const groups = useDeadGroups();
  const dead = useOverview().data?.states.dead;
  const canWrite = useAllows('jobs:write');
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const items = groups.data?.items;
  const isComplete = groups.data?.complete ?? true;
  const doTo = ({ group }: DeadGroup) =>
    // Without a group the filter would mean every dead job.
    typeof group === 'string'
      ? (verb: JobVerb) => setBulk({ verb, of: { filter: { state: 'dead', error_group: group } } })
      : undefined;
  return (
    <>
      <PageHeader
        title="Dead letters"
        note="Jobs that used up all their tries, gathered by what went wrong."
      />
      <Card
        flush
        title="By error"
        note={
          items !== undefined && items.length > 0 && dead !== undefined
            ? `${plural(dead.count, 'job')}${dead.estimate ? ' or more' : ''} in ${plural(items.length, 'group')}${isComplete ? '' : ' or more'}`
            : undefined
        }
      >
        {items !== undefined ? (
          items.length === 0 ? (
            <EmptyState icon={PartyPopper} title="Nothing is dead">
              A job comes here when its last try has failed, or when it took three workers down with it.
              Nothing is thrown away: from here it can be tried again.
            </EmptyState>
          ) : (
            <>
              <ul className="divide-y">
                {items.map((group) => (
                  <DeadGroupRow
                    key={group.group ?? 'ungrouped'}
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
