import { expect, it } from 'vitest';
import { appended, KEPT_LINES } from './output';

const line = (text: string) => ({ stream: 'stdout' as const, text });

it('keeps the end of what a command prints, and counts what is not shown', () => {
  const first = appended({ lines: [], dropped: 0 }, [line('a')], 3);
  expect(first).toEqual({ lines: [line('a')], dropped: 3 });
  const many = Array.from({ length: KEPT_LINES }, (_, at) => line(String(at)));
  const second = appended(first, many, 0);
  expect(second.lines).toHaveLength(KEPT_LINES);
  expect(second.lines.at(-1)?.text).toBe(String(KEPT_LINES - 1));
  expect(second.dropped).toBe(4);
});
