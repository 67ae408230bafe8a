// The end of a command's output that is kept on the screen.
import type { OutputLine } from '@/api/documents';

export const KEPT_LINES = 2_000;

export interface Shown {
  lines: OutputLine[];
  /** How many came before them. */
  dropped: number;
}

export function appended({ lines, dropped }: Shown, more: OutputLine[], skipped: number): Shown {
  const all = [...lines, ...more];
  const over = Math.max(0, all.length - KEPT_LINES);
  return { lines: all.slice(over), dropped: dropped + Math.max(0, skipped) + over };
}
