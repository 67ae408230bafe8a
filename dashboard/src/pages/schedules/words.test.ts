import { expect, test } from 'vitest';
import type { Schedule } from '@/api/documents';
import { inWords, policies, tickLook, written } from './words';

const BASE = { missed: null, overlap: null } as unknown as Schedule;

test('the defaults are spelt out', () => {
  expect(policies({ ...BASE, cron: '0 9 * * *' })).toEqual([
    'If fires were missed while no scheduler ran, only the latest of them is made up for.',
    'If the job before is still under way, another starts beside it.',
    'A time that does not exist because clocks are put forward fires when the gap ends.',
    'A time that comes twice because clocks are put back fires once, the first time.',
  ]);
});

test('an interval knows no change of the clocks', () => {
  const said = policies({
    ...BASE,
    every: '90s',
    overlap: 'skip',
    missed: 'all',
    missed_max: 5,
    jitter: '30s',
  });
  expect(said).toHaveLength(3);
  expect(said.join(' ')).toContain('At most 5 at once.');
  expect(said.join(' ')).toContain('the fire is skipped');
  expect(said.join(' ')).toContain('up to 30s later');
});

test('every outcome of a tick has its words', () => {
  expect(tickLook({ state: 'fired', reason: null }).said).toBe('On time');
  expect(tickLook({ state: 'fired', reason: 'by_hand' }).said).toContain('By hand');
  expect(tickLook({ state: 'held', reason: null }).said).toContain('Waits');
  expect(tickLook({ state: 'skipped', reason: 'overlap' }).said).toContain('still under way');
  expect(tickLook({ state: 'skipped', reason: 'missed', count: 12 }).said).toBe(
    '12 fires missed while no scheduler ran',
  );
  expect(tickLook({ state: 'skipped', reason: 'too_many_waiting' }).said).toContain('as many jobs waiting');
  expect(tickLook({ state: 'skipped', reason: 'missed', count: null }).said).toContain('Many fires');
});

test('instants are not spelt to the microsecond', () => {
  expect(inWords({ description: 'Every 45s, counted from 2026-11-15T23:27:58.288630Z', every: '45s' })).toBe(
    'Every 45s',
  );
  expect(inWords({ description: 'At 09:00, in UTC' })).toBe('At 09:00, in UTC');
  expect(written({ at: '2026-12-01T08:00:00.000000Z' })).toBe('2026-12-01T08:00:00Z');
});
