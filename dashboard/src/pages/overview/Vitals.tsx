import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Overview, Statistics } from '@/api/documents';
import { countText, plural } from '@/components/numbers';
import { Skeleton } from '@/components/Skeleton';
import { durationText, parseDuration } from '@/components/time';
import { columns, counts, total } from './series';

/** The four numbers one looks at first. */
export function Vitals({
  overview,
  statistics,
}: {
  overview?: Overview | undefined;
  statistics?: Statistics | undefined;
}) {
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Throughput statistics={statistics} />
      <Failures statistics={statistics} />
      <OldestWaiting overview={overview} />
      <Workers overview={overview} />
    </div>
  );
}

function Vital({ name, value, note }: { name: string; value: ReactNode; note: ReactNode }) {
  return (
    <div className="min-w-0 rounded-lg border bg-surface px-4 py-3 shadow-low">
      <p className="text-xs font-medium text-muted">{name}</p>
      <p className="tabular mt-0.5 truncate text-2xl font-semibold tracking-tight">{value}</p>
      <p className="truncate text-xs text-faint">{note}</p>
    </div>
  );
}

function Waiting({ name }: { name: string }) {
  return (
    <Vital
      name={name}
      value={<Skeleton className="my-1 h-6 w-20" />}
      note={<Skeleton className="mt-1 h-3 w-28" />}
    />
  );
}

function Throughput({ statistics }: { statistics: Statistics | undefined }) {
  const name = 'Throughput';
  if (statistics === undefined) return <Waiting name={name} />;
  const each = columns(statistics);
  const completed = counts(each, 'completed');
  // The time that is still filling would always look like a drop, and the one before it may have been idle.
  const latest = Math.max(completed.at(-2) ?? 0, completed.at(-1) ?? 0);
  return (
    <Vital
      name={name}
      value={
        <>
          {countText(latest)}
          <span className="ml-1 text-sm font-normal text-muted">
            / {statistics.step === 'minute' ? 'min' : 'hour'}
          </span>
        </>
      }
      note={`${countText(total(completed))} in this ${span(statistics)}`}
    />
  );
}

function Failures({ statistics }: { statistics: Statistics | undefined }) {
  const name = 'Failure rate';
  if (statistics === undefined) return <Waiting name={name} />;
  const each = columns(statistics);
  const bad = total(counts(each, 'failed')) + total(counts(each, 'dead'));
  const ended = bad + total(counts(each, 'completed'));
  const percent = ended === 0 ? 0 : (bad / ended) * 100;
  return (
    <Vital
      name={name}
      value={ended === 0 ? '–' : `${percent === 0 ? '0' : percent.toFixed(percent < 10 ? 1 : 0)} %`}
      note={ended === 0 ? 'No jobs have ended yet' : `${countText(bad)} failed or dead`}
    />
  );
}

function span({ step }: Statistics): string {
  return step === 'minute' ? 'hour' : 'day';
}

function OldestWaiting({ overview }: { overview: Overview | undefined }) {
  const name = 'Oldest waiting';
  if (overview === undefined) return <Waiting name={name} />;
  const oldest = overview.oldest_waiting ?? null;
  if (oldest === null) return <Vital name={name} value="–" note="No jobs are waiting for a worker" />;
  const age = parseDuration(oldest.age);
  return (
    <Vital
      name={name}
      value={age === null ? oldest.age : durationText(age)}
      note={
        <>
          in{' '}
          <Link
            to="/jobs"
            search={{ queue: oldest.queue, state: 'pending' }}
            className="text-accent hover:underline"
          >
            {oldest.queue}
          </Link>
        </>
      }
    />
  );
}

function Workers({ overview }: { overview: Overview | undefined }) {
  if (overview === undefined) return <Waiting name="Workers online" />;
  const workers = overview.workers ?? null;
  // Only an operator is told of workers.
  if (workers === null) {
    return <Vital name="Queues" value={countText(overview.queues)} note="with jobs in them" />;
  }
  return (
    <Vital
      name="Workers online"
      value={countText(workers.live)}
      note={
        <>
          {countText(workers.running)} of {plural(workers.slots, 'slot')} busy
          {workers.draining > 0 && `, ${workers.draining} draining`}
        </>
      }
    />
  );
}
