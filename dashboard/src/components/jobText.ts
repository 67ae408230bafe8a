// What a job does, in one line.
import type { Job } from '@/api/documents';

type Target = Pick<Job, 'url' | 'method' | 'command' | 'task' | 'kind'>;

export function targetText({ url, method, command, task, kind }: Target): string {
  if (typeof url === 'string') return `${method ?? 'POST'} ${shortUrl(url)}`;
  if (Array.isArray(command)) return command.join(' ');
  if (typeof command === 'string') return command;
  if (typeof task === 'string') return task;
  // Where a message goes is the webhook's business, and its address may have changed since.
  return kind === 'foreman.webhook' ? 'Webhook delivery' : 'Unknown';
}

/** Host and path: the scheme says little, and what is behind `?` is long. */
function shortUrl(text: string): string {
  try {
    const { host, pathname } = new URL(text);
    return `${host}${pathname === '/' ? '' : pathname}`;
  } catch {
    return text;
  }
}

/** The end of the id differs even between jobs of the same millisecond. */
export function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}
