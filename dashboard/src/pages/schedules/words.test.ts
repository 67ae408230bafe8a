import { expect, test } from 'vitest';
import type { Schedule } from '@/api/documents';
import { inWords, policies, tickLook, written } from './words';

const BASE = { missed: null, overlap: null } as unknown as Schedule;

test('the defaults are spelt out', () => {
  expect(policies({ ...BASE, cron: '0 9 * * *' })).toEqual([
    'If fires were missed while no scheduler was running, only the latest one runs.',
    'If the previous job is still running, another one starts in parallel.',
    'A time that does not exist because the clocks go forward fires when the gap ends.',
    'A time that occurs twice because the clocks go back fires once, the first time.',
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
  expect(said.join(' ')).toContain('up to 30s after');
});

test('every outcome of a tick has its words', () => {
  expect(tickLook({ state: 'fired', reason: null }).said).toBe('On time');
  expect(tickLook({ state: 'fired', reason: 'by_hand' }).said).toContain('Run manually');
  expect(tickLook({ state: 'held', reason: null }).said).toContain('Waiting');
  expect(tickLook({ state: 'skipped', reason: 'overlap' }).said).toContain('still running');
  expect(tickLook({ state: 'skipped', reason: 'missed', count: 12 }).said).toBe(
    '12 fires missed while no scheduler was running',
  );
  expect(tickLook({ state: 'skipped', reason: 'too_many_waiting' }).said).toContain('limit of waiting jobs');
  expect(tickLook({ state: 'skipped', reason: 'missed', count: null }).said).toContain('Many fires');
});

test('instants are not spelt to the microsecond', () => {
  expect(inWords({ description: 'Every 45s, counted from 2026-11-15T23:27:58.288630Z', every: '45s' })).toBe(
    'Every 45s',
  );
  expect(inWords({ description: 'At 09:00, in UTC' })).toBe('At 09:00, in UTC');
  expect(written({ at: '2026-12-01T08:00:00.000000Z' })).toBe('2026-12-01T08:00:00Z');
});
