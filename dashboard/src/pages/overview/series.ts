// Statistics as columns for charts. The server leaves out buckets in which nothing happened; a chart must not.
import type { Bucket, Statistics } from '@/api/documents';

const STEP_SECONDS = { minute: 60, hour: 3_600 };

export type Counter = 'submitted' | 'started' | 'completed' | 'failed' | 'dead' | 'cancelled' | 'retried';

export interface Columns {
  times: number[];
  buckets: (Bucket | undefined)[];
}

export function columns({ step, from, to, items }: Statistics): Columns {
  const seconds = STEP_SECONDS[step];
  const known = new Map(items.map((bucket) => [floor(bucket.at, seconds), bucket]));
  const times: number[] = [];
  for (let at = floor(from, seconds); at <= floor(to, seconds); at += seconds) times.push(at);
  return { times, buckets: times.map((at) => known.get(at)) };
}

function floor(at: string, seconds: number): number {
  return Math.floor(Date.parse(at) / 1_000 / seconds) * seconds;
}

/** Nothing happened means none. */
export function counts({ buckets }: Columns, name: Counter): number[] {
  return buckets.map((bucket) => bucket?.[name] ?? 0);
}

/** Nothing happened means nothing was measured. */
export function latencies(
  { buckets }: Columns,
  what: 'wait' | 'run',
  which: 'p50_ms' | 'p95_ms',
): (number | null)[] {
  return buckets.map((bucket) => bucket?.[what]?.[which] ?? null);
}

/** Nothing happened means as deep as before. */
export function depths({ buckets }: Columns, what: 'waiting' | 'running'): (number | null)[] {
  let last: number | null = null;
  return buckets.map((bucket) => {
    last = bucket?.[what] ?? last;
    return last;
  });
}

export function total(values: (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

export function highest(values: (number | null)[]): number {
  return values.reduce<number>((top, value) => Math.max(top, value ?? 0), 0);
}
