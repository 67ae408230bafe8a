import { describe, expect, it } from 'vitest';
import { durationText, parseDuration, relativeText } from './time';

describe('times for people', () => {
  it.each([
    [0, '0 ms'],
    [240, '240 ms'],
    [999.4, '999 ms'],
    [1_500, '1.5s'],
    [2_000, '2s'],
    [59_600, '1m'],
    [65_000, '1m 5s'],
    [3_600_000, '1h'],
    [90_061_000, '1d 1h'],
  ])('%d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it.each([
    [-500, 'just now'],
    [-12_900, '12s ago'],
    [-3 * 86_400_000, '3d ago'],
    [3 * 3_600_000, 'in 3h'],
  ])('%d ms from now is %s', (distance, text) => {
    expect(relativeText(1e12 + distance, 1e12)).toBe(text);
  });

  it.each([
    ['3m12s', 192_000],
    ['1h', 3_600_000],
    ['1.5s', 1_500],
    ['250ms', 250],
    ['1d 2h', 93_600_000],
    ['', null],
    ['soon', null],
  ])('the server’s %s is %s ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});
