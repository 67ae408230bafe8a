// Keeps a page of jobs still while jobs arrive: the rows that somebody reads stay where they are, their states change,
// and what is new waits until it is asked for.
import type { Job, Page } from '@/api/documents';
import { PAGE } from '@/api/jobs';
import { patched } from '@/live/heard';
import type { LiveEvent } from '@/live/events';

export interface Still {
  /** Of which list this is a page. */
  key: string;
  rows: Job[];
  /** The page after these rows, whatever has arrived before them since. */
  next: string | null;
  /** How many have arrived above the first row. */
  waiting: number;
}

export interface Arrival {
  key: string;
  page: Page<Job>;
  /** New rows may come in by themselves: the page is not full, and nobody has a hand on it. */
  flows: boolean;
}

/** The page after an answer; the same object when nothing on it changed. */
export function settle(still: Still | null, { key, page, flows }: Arrival): Still {
  if (still === null || still.key !== key) return anew(key, page);
  if (still.rows.length === 0) return page.items.length === 0 ? still : anew(key, page);
  if (flows && still.rows.length < PAGE && arrived(still, page) > 0) return anew(key, page);
  const fresh = new Map(page.items.map((job) => [job.id, job]));
  // A row that the list no longer has (it moved on to another state) stays as it was last seen.
  const rows = still.rows.map((row) => fresh.get(row.id) ?? row);
  const waiting = arrived(still, page);
  if (waiting === still.waiting && rows.every((row, at) => row === still.rows[at])) return still;
  return { ...still, rows, waiting };
}

/** Whoever asks for what is new gets a new page. */
export function anew(key: string, page: Page<Job>): Still {
  const rows = page.items.slice(0, PAGE);
  // More than a page was fetched only to count: then the cursor belongs to the longer one.
  const next = page.items.length > PAGE ? null : (page.next ?? null);
  return { key, rows, next, waiting: 0 };
}

/** What the stream told, for rows that the list no longer has. */
export function told(still: Still | null, events: LiveEvent[]): Still | null {
  if (still === null) return still;
  const latest = new Map(
    events.flatMap((event) => (event.name === 'job' ? [[event.data.id, event.data]] : [])),
  );
  if (latest.size === 0) return still;
  const rows = still.rows.map((row) => {
    const event = latest.get(row.id);
    return event === undefined ? row : patched(row, event);
  });
  return rows.every((row, at) => row === still.rows[at]) ? still : { ...still, rows };
}

function arrived(still: Still, page: Page<Job>): number {
  const known = new Set(still.rows.map((row) => row.id));
  const first = page.items.findIndex((job) => known.has(job.id));
  return first === -1 ? page.items.length : first;
}
