import { useMemo } from 'react';
import type { Statistics } from '@/api/documents';
import { Card } from '@/components/Card';
import { Chart, type ChartSeries } from '@/components/Chart';
import { ErrorState } from '@/components/ErrorState';
import { countText } from '@/components/numbers';
import { Skeleton } from '@/components/Skeleton';
import { durationText } from '@/components/time';
import { columns, counts, depths, highest, latencies, total, type Columns } from './series';

interface ChartsProps {
  statistics: Statistics | undefined;
  error: unknown;
  retry: () => void;
}

export function Charts({ statistics, error, retry }: ChartsProps) {
  const each = useMemo(() => (statistics === undefined ? undefined : columns(statistics)), [statistics]);
  if (each === undefined) {
    return error === null ? (
      <Loading />
    ) : (
      <Card>
        <ErrorState error={error} retry={retry} />
      </Card>
    );
  }
  const per = statistics?.step === 'hour' ? 'per hour' : 'per minute';
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Throughput each={each} per={per} />
      <Failures each={each} per={per} />
      <Latency each={each} />
      <Depth each={each} />
    </div>
  );
}

const whole = (value: number) => (Number.isInteger(value) ? countText(value) : '');

function Throughput({ each, per }: { each: Columns; per: string }) {
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: 'cancelled', colour: 'grey', kind: 'bars', values: counts(each, 'cancelled') },
      { label: 'dead', colour: 'bad', kind: 'bars', values: counts(each, 'dead') },
      { label: 'failed', colour: 'orange', kind: 'bars', values: counts(each, 'failed') },
      { label: 'completed', colour: 'good', kind: 'bars', values: counts(each, 'completed') },
    ],
    [each],
  );
  return (
    <Card title="Throughput" note={`jobs ended ${per}, by state`}>
      <Chart
        label="Throughput"
        times={each.times}
        series={series}
        stacked
        format={whole}
        summary={summaryOfCounts(series)}
      />
    </Card>
  );
}

function Failures({ each, per }: { each: Columns; per: string }) {
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: 'retried', colour: 'warn', kind: 'bars', values: counts(each, 'retried') },
      { label: 'failed', colour: 'orange', kind: 'bars', values: counts(each, 'failed') },
      { label: 'dead', colour: 'bad', kind: 'bars', values: counts(each, 'dead') },
    ],
    [each],
  );
  return (
    <Card title="Failures" note={`attempts that did not complete, ${per}`}>
      <Chart
        label="Failures"
        times={each.times}
        series={series}
        stacked
        format={whole}
        summary={summaryOfCounts(series)}
      />
    </Card>
  );
}

function Latency({ each }: { each: Columns }) {
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: 'run p95', colour: 'violet', kind: 'line', values: latencies(each, 'run', 'p95_ms') },
      { label: 'run p50', colour: 'accent', kind: 'line', values: latencies(each, 'run', 'p50_ms') },
      { label: 'wait p95', colour: 'warn', kind: 'line', values: latencies(each, 'wait', 'p95_ms') },
      { label: 'wait p50', colour: 'grey', kind: 'line', values: latencies(each, 'wait', 'p50_ms') },
    ],
    [each],
  );
  const summary = series
    .map(({ label, values }) => `${label}: at most ${durationText(highest(values))}.`)
    .join(' ');
  return (
    <Card title="Latency" note="waiting for a worker, and running">
      <Chart label="Latency" times={each.times} series={series} format={durationText} summary={summary} />
    </Card>
  );
}

function Depth({ each }: { each: Columns }) {
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: 'waiting', colour: 'accent', kind: 'area', values: depths(each, 'waiting') },
      { label: 'running', colour: 'good', kind: 'area', values: depths(each, 'running') },
    ],
    [each],
  );
  const summary = series
    .map(
      ({ label, values }) =>
        `${label}: ${countText(values.at(-1) ?? 0)} at the latest, at most ${countText(highest(values))}.`,
    )
    .join(' ');
  return (
    <Card title="Queue depth" note="jobs waiting and running">
      <Chart label="Queue depth" times={each.times} series={series} format={whole} summary={summary} />
    </Card>
  );
}

function summaryOfCounts(series: ChartSeries[]): string {
  return series
    .map(
      ({ label, values }) =>
        `${label}: ${countText(total(values))} in all, ${countText(values.at(-1) ?? 0)} in the latest, at most ${countText(highest(values))}.`,
    )
    .join(' ');
}

function Loading() {
  return (
    <div role="status" aria-label="Loading the charts" className="grid gap-4 lg:grid-cols-2">
      {['Throughput', 'Failures', 'Latency', 'Queue depth'].map((title) => (
        <Card key={title} title={title}>
          <Skeleton className="h-44 w-full" />
        </Card>
      ))}
    </div>
  );
}
