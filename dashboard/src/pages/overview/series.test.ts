import { describe, expect, it } from 'vitest';
import type { Bucket, Statistics } from '@/api/documents';
import { columns, counts, depths, latencies } from './series';

function bucket(at: string, fields: Partial<Bucket>): Bucket {
  const none = { submitted: 0, started: 0, completed: 0, failed: 0, dead: 0, cancelled: 0, retried: 0 };
  return { at, ...none, wait: null, run: null, waiting: null, running: null, ...fields } as Bucket;
}

const statistics: Statistics = {
  step: 'minute',
  from: '2026-11-15T12:00:30Z',
  to: '2026-11-15T12:03:10Z',
  items: [bucket('2026-11-15T12:01:00Z', { completed: 5, waiting: 7 })],
};

describe('buckets that were left out', () => {
  const each = columns(statistics);

  it('have their place in time', () => {
    expect(each.times.map((at) => new Date(at * 1_000).toISOString().slice(11, 16))).toEqual([
      '12:00',
      '12:01',
      '12:02',
      '12:03',
    ]);
  });

  it('count nothing, measure nothing, and are as deep as before', () => {
    expect(counts(each, 'completed')).toEqual([0, 5, 0, 0]);
    expect(latencies(each, 'run', 'p95_ms')).toEqual([null, null, null, null]);
    expect(depths(each, 'waiting')).toEqual([null, 7, 7, 7]);
  });
});
