// Webhooks, as one would say it.
import type { Webhook } from '@/api/documents';
import type { Tone } from '@/components/Badge';

export const EVENTS: { name: string; says: string }[] = [
  { name: 'job.completed', says: 'A job completed' },
  { name: 'job.failed', says: 'A job failed with an error that a retry cannot fix' },
  { name: 'job.dead', says: 'A job has used up all its attempts' },
  { name: 'job.cancelled', says: 'A job was cancelled' },
  { name: 'webhook.disabled', says: 'Another endpoint was disabled because of failures' },
];

const OF_JOBS = EVENTS.map(({ name }) => name).filter((name) => name.startsWith('job.'));

/** As short as it can be said: the four of jobs are `job.*`. */
export function shortened(events: string[]): string[] {
  if (!OF_JOBS.every((name) => events.includes(name))) return events;
  return ['job.*', ...events.filter((event) => !OF_JOBS.includes(event))];
}

const WHY = {
  by_owner: 'disabled by a user',
  gone: 'it answered 410 Gone',
  failing: 'every delivery has failed for days',
};

export interface Health {
  word: 'enabled' | 'disabled' | 'failing';
  tone: Tone;
  why: string | null;
}

export function healthOf(webhook: Webhook): Health {
  if (!webhook.enabled) {
    const why = webhook.disabled === null || webhook.disabled === undefined ? null : WHY[webhook.disabled];
    return { word: 'disabled', tone: webhook.disabled === 'by_owner' ? 'grey' : 'bad', why };
  }
  if (typeof webhook.failing_since === 'string') {
    return { word: 'failing', tone: 'warn', why: 'every delivery fails' };
  }
  return { word: 'enabled', tone: 'good', why: null };
}
