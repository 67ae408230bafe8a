import { expect, test } from 'vitest';
import { linkedKey } from './link';

const KEY = `fm_dev_${'0123456789abcdef'.repeat(4)}`;

test('only a key that `foreman dev` has made for itself is taken out of a link', () => {
  expect(linkedKey(`#key=${KEY}`)).toBe(KEY);
  expect(linkedKey(`key=${KEY}`)).toBe(KEY);
  for (const other of ['', '#', '#key=', '#key=fm_0123456789ab_secret', `#key=${KEY}0`, `#k=${KEY}`])
    expect(linkedKey(other)).toBeUndefined();
});
