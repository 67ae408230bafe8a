import { expect, it } from 'vitest';
import { stack } from './stack';

it('piles series up, the last one on the ground, and takes nothing measured for nothing', () => {
  expect(
    stack([
      [1, 1],
      [2, null],
      [3, 3],
    ]),
  ).toEqual([
    [6, 4],
    [5, 3],
    [3, 3],
  ]);
});
