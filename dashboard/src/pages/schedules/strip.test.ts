import { expect, test } from 'vitest';
import { axis, track } from './strip';

const FROM = Date.parse('2026-11-15T12:00:00Z');
const HOUR = { from: FROM, to: FROM + 3_600_000 };

function every(seconds: number, count: number): { at: string }[] {
  return Array.from({ length: count }, (_, at) => ({
    at: new Date(FROM + (at + 1) * seconds * 1_000).toISOString(),
  }));
}

test('fires that stand apart are marks where they belong', () => {
  const { marks, bands, count, isCut } = track(every(900, 3), HOUR, 100);
  expect(marks.map(({ left }) => left)).toEqual([25, 50, 75]);
  expect({ bands, count, isCut }).toEqual({ bands: [], count: 3, isCut: false });
});

test('what lies beyond the line is not on it', () => {
  expect(track(every(1_800, 10), HOUR, 100).count).toBe(2);
});

test('fires too close to be told apart are one band that says how many', () => {
  const { marks, bands } = track(every(10, 50), HOUR, 100);
  expect(marks).toEqual([]);
  expect(bands).toHaveLength(1);
  expect(bands[0]?.count).toBe(50);
});

test('a steady pace goes on beyond what was asked for', () => {
  const { bands, count, isCut } = track(every(20, 100), HOUR, 100);
  expect(count).toBe(180);
  expect(isCut).toBe(false);
  expect((bands[0]?.left ?? 0) + (bands[0]?.width ?? 0)).toBeCloseTo(100);
});

test('where it is not known how it goes on, that is shown', () => {
  const odd = [...every(20, 99), { at: new Date(FROM + 2_400_000).toISOString() }];
  const { isCut, untold, count } = track(odd, HOUR, 100);
  expect({ isCut, count }).toEqual({ isCut: true, count: 100 });
  expect(untold).toBeCloseTo(66.67, 1);
});

test('the axis has round times, and not too many', () => {
  const ticks = axis(HOUR, 7);
  expect(ticks.length).toBeGreaterThan(3);
  expect(ticks.length).toBeLessThanOrEqual(8);
  for (const { at } of ticks) expect(new Date(at).getMinutes() % 10).toBe(0);
});

test('a second apart for a week is counted, not drawn one by one', () => {
  const week = { from: FROM, to: FROM + 7 * 86_400_000 };
  const { bands, marks, count } = track(every(1, 100), week, 100);
  expect(count).toBe(7 * 86_400);
  expect({ bands: bands.length, marks: marks.length }).toEqual({ bands: 1, marks: 0 });
});
