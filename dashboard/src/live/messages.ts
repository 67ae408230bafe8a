// What a tab and the shared worker say to each other.
import type { LiveEvent } from './events';
import type { Connection } from './feed';

export type ToWorker =
  | { type: 'follow'; tenant: string | null }
  | { type: 'hurry' }
  /** Another key is in force: what was open belongs to the one before. */
  | { type: 'restart' }
  | { type: 'leave' };

export type ToTab = { type: 'events'; events: LiveEvent[] } | { type: 'connection'; connection: Connection };
