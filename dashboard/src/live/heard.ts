// What the stream last said about each job, so that an answer that was on its way meanwhile does not undo it.
import { isFinal, type Job } from '@/api/documents';
import type { JobEvent } from './events';

/** As many as a busy minute tells of; the oldest are forgotten first. */
const REMEMBERED = 5_000;

export class Heard {
  readonly #latest = new Map<string, JobEvent>();

  remember(event: JobEvent): void {
    const known = this.#latest.get(event.id);
    if (known !== undefined && known.sequence >= event.sequence) return;
    this.#latest.delete(event.id);
    this.#latest.set(event.id, event);
    if (this.#latest.size > REMEMBERED) {
      const oldest = this.#latest.keys().next().value;
      if (oldest !== undefined) this.#latest.delete(oldest);
    }
  }

  reconcile(job: Job): Job {
    const event = this.#latest.get(job.id);
    return event === undefined ? job : patched(job, event);
  }

  forget(): void {
    this.#latest.clear();
  }
}

/** The job after the event; the same object when the event is not news. */
export function patched(job: Job, event: JobEvent): Job {
  if (event.sequence <= (job.sequence ?? 0)) return job;
  return {
    ...job,
    state: event.state,
    attempt: event.attempt,
    sequence: event.sequence,
    started_at: event.state === 'running' ? event.at : job.started_at,
    finished_at: isFinal(event.state) ? event.at : null,
  };
}

export const heard = new Heard();
