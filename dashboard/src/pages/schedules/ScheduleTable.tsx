import { Link } from '@tanstack/react-router';
import type { Schedule, Tick } from '@/api/documents';
import { RelativeTime } from '@/components/RelativeTime';
import { StateBadge } from '@/components/StateBadge';
import { Table, Td, Th, Tr } from '@/components/Table';
import { ScheduleActions } from './ScheduleActions';
import { ScheduleBadge, TickBadge } from './ScheduleBadge';
import { inWords, written } from './words';

/** On a phone the words stand below the name, and what is left over goes. No words are cut off: they say when it fires. */
export function ScheduleTable({ schedules }: { schedules: Schedule[] }) {
  return (
    <Table label="Schedules">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th className="hidden md:table-cell">Fires</Th>
          <Th>Next</Th>
          <Th className="hidden sm:table-cell">Latest</Th>
          <Th className="hidden lg:table-cell">State</Th>
          <Th>
            <span className="sr-only">Actions</span>
          </Th>
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule) => (
          <Row key={schedule.id} schedule={schedule} />
        ))}
      </tbody>
    </Table>
  );
}

function Row({ schedule }: { schedule: Schedule }) {
  return (
    <Tr>
      <Td className="max-w-0 min-w-40 sm:max-w-60">
        <Link
          to="/schedules/$schedule"
          params={{ schedule: schedule.id }}
          className="block font-medium wrap-anywhere hover:text-accent hover:underline"
        >
          {schedule.name}
        </Link>
        <span className="block text-xs wrap-anywhere text-muted md:hidden">{inWords(schedule)}</span>
        <span className="mt-0.5 block lg:hidden">
          {schedule.state !== 'active' && <ScheduleBadge state={schedule.state} />}
        </span>
      </Td>
      <Td className="hidden max-w-0 min-w-48 md:table-cell md:w-2/5">
        <span className="block wrap-anywhere">{inWords(schedule)}</span>
        <span className="block text-xs wrap-anywhere text-faint">
          <code className="font-mono">{written(schedule)}</code>
          {typeof schedule.timezone === 'string' && ` · ${schedule.timezone}`}
        </span>
      </Td>
      <Td>
        <RelativeTime at={schedule.next_fire_at} />
      </Td>
      <Td className="hidden sm:table-cell">
        <Latest tick={schedule.last_tick} />
      </Td>
      <Td className="hidden lg:table-cell">
        <ScheduleBadge state={schedule.state} />
      </Td>
      <Td className="w-10 text-right">
        <ScheduleActions schedule={schedule} />
      </Td>
    </Tr>
  );
}

function Latest({ tick }: { tick: Tick | null | undefined }) {
  if (tick === null || tick === undefined) return <span className="text-faint">never fired</span>;
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
      <RelativeTime at={tick.at} className="text-muted" />
      {typeof tick.job === 'string' ? (
        <Link
          to="/jobs/$id"
          params={{ id: tick.job }}
          aria-label={`Its job ${tick.job}, ${tick.job_state ?? 'removed'}`}
          className="rounded-full hover:opacity-80"
        >
          {tick.job_state === null || tick.job_state === undefined ? (
            <TickBadge tick={tick} />
          ) : (
            <StateBadge state={tick.job_state} />
          )}
        </Link>
      ) : (
        <TickBadge tick={tick} />
      )}
    </span>
  );
}
