// How a worker is, from what it last said.
import type { Worker } from '@/api/documents';

/** It says so every 5 s, and is given up after 15. */
export const LATE_MS = 10_000;
export const LAPSED_MS = 15_000;

export type Health = 'live' | 'draining' | 'late' | 'lapsed' | 'ended' | 'dead';

/** `now` is the server's: a browser's clock may be minutes off. */
export function health(worker: Worker, now: number): Health {
  if (worker.state === 'ended' || worker.state === 'dead') return worker.state;
  const silent = now - Date.parse(worker.heartbeat_at);
  if (silent >= LAPSED_MS) return 'lapsed';
  if (silent >= LATE_MS) return 'late';
  return worker.state;
}

export function isHere({ state }: Worker): boolean {
  return state === 'live' || state === 'draining';
}

/** By name, so that rows stand still while they work. */
export function byName(workers: Worker[]): Worker[] {
  return workers.toSorted(
    (a, b) => a.worker.localeCompare(b.worker) || a.started_at.localeCompare(b.started_at),
  );
}

/** The latest to go on top. */
export function byEnd(workers: Worker[]): Worker[] {
  return workers.toSorted((a, b) => b.heartbeat_at.localeCompare(a.heartbeat_at));
}
