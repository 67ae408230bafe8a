import { Link } from '@tanstack/react-router';
import { History } from 'lucide-react';
import type { Tick } from '@/api/documents';
import { keys } from '@/api/keys';
import { useTicks } from '@/api/schedules';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { Pager } from '@/components/Pager';
import { RelativeTime } from '@/components/RelativeTime';
import { SkeletonRows } from '@/components/Skeleton';
import { StateBadge } from '@/components/StateBadge';
import { Table, Td, Th, Tr } from '@/components/Table';
import { absoluteText, clockText } from '@/components/time';
import { useCursors } from '@/components/useCursors';
import { useReread } from '@/live/useReread';
import { TickBadge } from './ScheduleBadge';
import { tickLook } from './words';

/** What became of its times, newest first. */
export function TickHistory({ schedule }: { schedule: string }) {
  const cursors = useCursors();
  const { data, error, refetch } = useTicks(schedule, cursors.cursor);
  useReread(
    keys.schedules.ticks(schedule, cursors.cursor),
    ({ id }) => data?.items.some(({ job }) => job === id) === true,
  );
  return (
    <Card title="History" note="the result of each fire" flush>
      {data === undefined && error !== null && <ErrorState error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows rows={5} label="Loading the history" />}
      {data?.items.length === 0 && (
        <EmptyState icon={History} title="It has not fired yet">
          Each fire is listed here with its result and the job it created.
        </EmptyState>
      )}
      {data !== undefined && data.items.length > 0 && (
        <>
          <Table label="Past fires">
            <thead>
              <tr>
                <Th>Time</Th>
                <Th>Result</Th>
                <Th className="hidden md:table-cell">Reason</Th>
                <Th>Job</Th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((tick) => (
                <Row key={`${tick.nominal} ${tick.at}`} tick={tick} />
              ))}
            </tbody>
          </Table>
          <Pager label="Pages of the history" {...cursors.pager(data.next)} />
        </>
      )}
    </Card>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The day goes where there is no room; how long ago it was stands below. */
function When({ at }: { at: string }) {
  return (
    <>
      <span className="hidden sm:inline">{DAY.format(new Date(at))}, </span>
      {clockText(at)}
    </>
  );
}

function Row({ tick }: { tick: Tick }) {
  const late = Date.parse(tick.at) - Date.parse(tick.nominal);
  return (
    <Tr>
      <Td>
        <time dateTime={tick.nominal} title={absoluteText(tick.nominal)} className="block whitespace-nowrap">
          <When at={tick.nominal} />
          {typeof tick.last === 'string' && tick.last !== tick.nominal && (
            <span className="block text-faint sm:inline">
              {' '}
              to <When at={tick.last} />
            </span>
          )}
        </time>
        <RelativeTime at={tick.nominal} className="text-xs text-faint" />
      </Td>
      <Td>
        <TickBadge tick={tick} />
        <span className="mt-0.5 block text-xs text-muted md:hidden">{tickLook(tick).said}</span>
      </Td>
      <Td className="hidden text-muted md:table-cell">
        {tickLook(tick).said}
        {tick.state === 'fired' && tick.reason !== 'by_hand' && late > 5_000 && (
          <span className="text-warn">, {Math.round(late / 1_000)} s late</span>
        )}
      </Td>
      <Td>
        {typeof tick.job === 'string' ? (
          <Link
            to="/jobs/$id"
            params={{ id: tick.job }}
            className="inline-flex flex-wrap items-center gap-2 hover:underline"
          >
            {tick.job_state === null || tick.job_state === undefined ? (
              <span className="text-faint">removed</span>
            ) : (
              <StateBadge state={tick.job_state} />
            )}
            <code className="hidden font-mono text-xs text-muted sm:inline">…{tick.job.slice(-8)}</code>
          </Link>
        ) : (
          <span className="text-faint">none</span>
        )}
      </Td>
    </Tr>
  );
}
