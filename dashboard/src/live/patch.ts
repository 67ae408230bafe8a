// Puts what the stream tells into the cache that the fetches fill, and reads again what an event cannot say in full.
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import type { Job, Page, Queue } from '@/api/documents';
import { keys } from '@/api/keys';
import type { JobEvent, LiveEvent, QueueEvent } from './events';
import { heard, patched, type Heard } from './heard';

/** Errors are not in an event, and these states have one. */
const WITH_ERROR = new Set(['retrying', 'failed', 'dead']);

export class Patcher {
  readonly #cache: QueryClient;
  readonly #heard: Heard;
  readonly #soon: (key: QueryKey, milliseconds: number) => void;

  constructor(
    cache: QueryClient,
    soon: (key: QueryKey, milliseconds: number) => void,
    memory: Heard = heard,
  ) {
    this.#cache = cache;
    this.#soon = soon;
    this.#heard = memory;
  }

  apply(events: LiveEvent[]): void {
    const latest = new Map<string, JobEvent>();
    for (const event of events) {
      if (event.name === 'job') {
        const before = latest.get(event.data.id);
        if (before === undefined || before.sequence < event.data.sequence)
          latest.set(event.data.id, event.data);
      } else if (event.name === 'queue') this.#queue(event.data);
      else if (event.name === 'worker') this.#worker();
      else if (event.name === 'schedule') this.#soon(keys.schedules.all, 500);
      else if (event.name === 'reset') this.#reset();
    }
    if (latest.size > 0) this.#jobs(latest);
  }

  #jobs(latest: Map<string, JobEvent>): void {
    for (const event of latest.values()) {
      this.#heard.remember(event);
      this.#job(event);
    }
    this.#lists(latest);
    this.#soon(keys.overview, 1_000);
    this.#soon(keys.statistics.all, 5_000);
    this.#soon(keys.queues, 2_000);
    this.#soon(keys.workers.all, 2_000);
    // One that has been tried may have been among them; one that expired was not tried.
    if ([...latest.values()].some((event) => event.state === 'failed' || event.attempt > 0)) {
      this.#soon(keys.failures.all, 3_000);
    }
  }

  #job(event: JobEvent): void {
    const key = keys.jobs.one(event.id);
    const job = this.#cache.getQueryData<Job>(key);
    if (job === undefined) {
      if (this.#cache.getQueryState(key) !== undefined) this.#soon(key, 250);
      return;
    }
    const now = patched(job, event);
    if (now === job) return;
    this.#cache.setQueryData(key, now);
    // Its attempts are only in the whole document.
    this.#soon(key, 250);
  }

  #lists(latest: Map<string, JobEvent>): void {
    for (const [key, page] of this.#cache.getQueriesData<Page<Job>>({ queryKey: keys.jobs.lists })) {
      if (page === undefined) {
        // It is on its way, and may have left before this happened.
        this.#soon(key, 1_000);
        continue;
      }
      const known = new Set<string>();
      let incomplete = false;
      const items = page.items.map((job) => {
        known.add(job.id);
        const event = latest.get(job.id);
        if (event === undefined) return job;
        const now = patched(job, event);
        if (now !== job && (isGap(job, event) || WITH_ERROR.has(event.state))) incomplete = true;
        return now;
      });
      if (items.some((job, at) => job !== page.items[at])) {
        this.#cache.setQueryData(key, { ...page, items });
      }
      const hasNews = [...latest.keys()].some((id) => !known.has(id));
      if (incomplete || hasNews) this.#soon(key, 1_000);
    }
  }

  #queue(event: QueueEvent): void {
    this.#cache.setQueryData<Page<Queue>>(keys.queues, (page) =>
      page === undefined
        ? page
        : {
            ...page,
            items: page.items.map((queue) =>
              queue.name === event.name ? { ...queue, paused: event.paused } : queue,
            ),
          },
    );
    this.#soon(keys.queues, 500);
    this.#soon(keys.overview, 500);
  }

  #worker(): void {
    this.#soon(keys.workers.all, 300);
    this.#soon(keys.overview, 500);
  }

  /** The stream could not go on where it was: everything on the screen may have moved. */
  #reset(): void {
    this.#heard.forget();
    this.#soon([], 0);
  }
}

/** Moves in between were merged, so what they set is not known here. */
function isGap(job: Job, event: JobEvent): boolean {
  return event.sequence > (job.sequence ?? 0) + 1;
}
