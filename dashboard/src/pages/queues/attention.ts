// Which queue to look at first.
import type { Queue } from '@/api/documents';
import { parseDuration } from '@/components/time';

/** Longer than this and the oldest job in it is worth a look. */
export const LONG_WAIT_MS = 60_000;

export function waiting(queue: Queue): number {
  return queue.pending + queue.retrying;
}

export function oldestMs(queue: Queue): number {
  return queue.oldest_age === null || queue.oldest_age === undefined
    ? 0
    : (parseDuration(queue.oldest_age) ?? 0);
}

/** Paused ones that hold something back, then by how long something has waited, then by how much, then by name. */
export function byAttention(queues: Queue[]): Queue[] {
  return queues.toSorted(
    (a, b) =>
      held(b) - held(a) ||
      late(b) - late(a) ||
      waiting(b) + b.running - (waiting(a) + a.running) ||
      b.rate - a.rate ||
      a.name.localeCompare(b.name),
  );
}

function held(queue: Queue): number {
  if (!queue.paused) return 0;
  return waiting(queue) > 0 ? 2 : 1;
}

/** Only an age that matters puts a queue above others: a row must not jump because of half a second. */
function late(queue: Queue): number {
  const age = oldestMs(queue);
  return age < LONG_WAIT_MS ? 0 : age;
}

export function rateText(perSecond: number): string {
  if (perSecond === 0) return '0/min';
  if (perSecond >= 1) return `${perSecond >= 10 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`;
  const perMinute = perSecond * 60;
  return `${perMinute >= 10 ? Math.round(perMinute) : perMinute.toFixed(1).replace(/\.0$/, '')}/min`;
}
