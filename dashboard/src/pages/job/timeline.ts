// A job's life as a row of waits and tries.
import { isFinal, type Attempt, type Job } from '@/api/documents';

export type Step =
  | { type: 'created'; at: string }
  | { type: 'wait'; ms: number; why: 'queue' | 'retry' }
  | { type: 'attempt'; attempt: Attempt; isLast: boolean }
  | { type: 'next'; at: string };

/** Shorter waits than this say nothing and only make the line longer. */
const WORTH_TELLING_MS = 1;

export function steps(job: Job): Step[] {
  const attempts = (job.attempts ?? []).toSorted((one, other) => one.number - other.number);
  const line: Step[] = [{ type: 'created', at: job.created_at }];
  let before = job.created_at;
  for (const [at, attempt] of attempts.entries()) {
    const began = attempt.started_at ?? attempt.finished_at;
    if (typeof began === 'string') {
      const ms = Date.parse(began) - Date.parse(before);
      if (ms >= WORTH_TELLING_MS) line.push({ type: 'wait', ms, why: at === 0 ? 'queue' : 'retry' });
    }
    line.push({ type: 'attempt', attempt, isLast: at === attempts.length - 1 });
    before = attempt.finished_at ?? began ?? before;
  }
  if (!isFinal(job.state) && job.state !== 'running') line.push({ type: 'next', at: job.run_at });
  return line;
}
