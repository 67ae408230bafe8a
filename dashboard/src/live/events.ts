// What the stream tells, as documents.
import type { State } from '@/api/documents';
import type { SseEvent } from './sse';

export interface JobEvent {
  id: string;
  state: State;
  queue: string;
  attempt: number;
  at: string;
  /** Counts the job's moves from 1; a jump means that moves in between were merged. */
  sequence: number;
}
export interface ScheduleEvent {
  id: string;
  name: string;
  what: 'tick' | 'created' | 'updated' | 'paused' | 'resumed' | 'deleted';
  at: string;
}
export interface WorkerEvent {
  id: string;
  worker: string;
  state: 'live' | 'draining' | 'ended' | 'dead';
  at: string;
}
export interface QueueEvent {
  name: string;
  paused: boolean;
  at: string;
}
export interface ResetEvent {
  reason: string;
  detail: string;
  at: string;
}

export type LiveEvent =
  | { name: 'job'; data: JobEvent }
  | { name: 'schedule'; data: ScheduleEvent }
  | { name: 'worker'; data: WorkerEvent }
  | { name: 'queue'; data: QueueEvent }
  | { name: 'reset'; data: ResetEvent }
  | { name: 'heartbeat'; data: { at: string } };

const NAMES = new Set(['job', 'schedule', 'worker', 'queue', 'reset', 'heartbeat']);

/** `null` for an event of a later version that this page has not heard of. */
export function readEvent(event: SseEvent): LiveEvent | null {
  if (!NAMES.has(event.name)) return null;
  try {
    return { name: event.name, data: JSON.parse(event.data) } as LiveEvent;
  } catch {
    return null;
  }
}
