// From what was typed to what is sent, with what the server need not be asked to see that it is wrong.
import type { JobSpec } from '@/api/documents';
import type { JobDraft, Pair } from './draft';

/** By JSON pointer, as the server names its own. */
export type Mistakes = Readonly<Record<string, string>>;

export interface Written {
  spec: JobSpec;
  /** The payload to the letter: a number of twenty digits must not be rounded on its way. */
  payload: string | null;
  mistakes: Mistakes;
}

export function writtenOf(draft: JobDraft): Written {
  const mistakes: Record<string, string> = {};
  const spec: JobSpec = {};
  const put = <Name extends keyof JobSpec>(name: Name, value: JobSpec[Name] | '') => {
    if (value !== '' && value !== undefined) spec[name] = value as JobSpec[Name];
  };
  const count = (pointer: string, typed: string) => {
    if (typed.trim() === '') return undefined;
    const value = Number(typed);
    if (!Number.isFinite(value)) mistakes[pointer] = 'is not a number';
    return Number.isFinite(value) ? value : undefined;
  };

  if (draft.target === 'url') {
    put('url', draft.url.trim());
    put('method', draft.method);
    put('headers', mapOf(draft.headers, '/headers', mistakes));
  } else if (draft.target === 'task') {
    put('task', draft.task.trim());
  } else {
    put('command', draft.isShell ? draft.command.trim() : wordsOf(draft.command));
    put('cwd', draft.cwd.trim());
    put('env', mapOf(draft.env, '/env', mistakes));
  }
  const payload = draft.content === 'json' && draft.payload.trim() !== '' ? draft.payload.trim() : null;
  if (payload !== null) {
    const parsed = parse(payload);
    if ('error' in parsed) mistakes['/payload'] = parsed.error;
    else spec.payload = parsed.value;
  }
  if (draft.content === 'text') put('body', draft.body);
  put('queue', draft.queue.trim());
  put('priority', draft.priority);
  put('kind', draft.kind.trim());
  const tags = tagsOf(draft.tags);
  if (tags.length > 0) spec.tags = tags;
  put('correlation_id', draft.correlationId.trim());
  put('max_attempts', count('/max_attempts', draft.maxAttempts));
  put('timeout', draft.timeout.trim());
  const backoff = backoffOf(draft, count);
  if (backoff !== null) spec.backoff = backoff;
  if (draft.when === 'delay') put('delay', draft.delay.trim());
  if (draft.when === 'at') put('run_at', instantOf(draft.runAt));
  put('idempotency_key', draft.idempotencyKey.trim());
  put('callback_url', draft.callbackUrl.trim());
  if (draft.target === 'command') Object.assign(spec, draft.rest);
  return { spec, payload: mistakes['/payload'] === undefined ? payload : null, mistakes };
}

/** The request's body. The payload stands in it as it was typed. */
export function textOf({ spec, payload }: Written, indent?: number): string {
  if (payload === null) return JSON.stringify(spec, null, indent);
  const { payload: _, ...others } = spec;
  const before = JSON.stringify(others, null, indent);
  const comma = Object.keys(others).length === 0 ? '' : ',';
  if (indent === undefined) return `${before.slice(0, -1)}${comma}"payload":${payload}}`;
  const space = ' '.repeat(indent);
  const open = comma === '' ? '{' : `${before.slice(0, -2)},`;
  return `${open}\n${space}"payload": ${payload.replaceAll('\n', `\n${space}`)}\n}`;
}

/** Whether it says at all what the job does. */
export function isAimed({ spec }: Written): boolean {
  return spec.url !== undefined || spec.task !== undefined || spec.command !== undefined;
}

export function tagsOf(typed: string): string[] {
  return typed
    .split(/[,\n]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

function wordsOf(typed: string): string[] | undefined {
  const words = typed.split('\n').filter((word) => word !== '');
  return words.length === 0 ? undefined : words;
}

function mapOf(
  list: Pair[],
  pointer: string,
  mistakes: Record<string, string>,
): Record<string, string> | undefined {
  const map: Record<string, string> = {};
  for (const { name, value } of list) {
    if (name.trim() === '') {
      if (value !== '') mistakes[`${pointer}/`] = 'has a value but no name';
      continue;
    }
    if (name.trim() in map) mistakes[`${pointer}/${escapePointer(name.trim())}`] = 'is listed twice';
    map[name.trim()] = value;
  }
  return Object.keys(map).length === 0 ? undefined : map;
}

function backoffOf(draft: JobDraft, count: (pointer: string, typed: string) => number | undefined) {
  const base = draft.backoffBase.trim();
  const cap = draft.backoffCap.trim();
  const factor = count('/backoff/factor', draft.backoffFactor);
  if (base === '' && cap === '' && factor === undefined) return null;
  return {
    ...(base === '' ? {} : { base }),
    ...(factor === undefined ? {} : { factor }),
    ...(cap === '' ? {} : { cap }),
  };
}

/** The browser's `2026-11-15T09:00` is in its own zone; the API wants an instant. */
export function instantOf(local: string): string | undefined {
  if (local === '') return undefined;
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

export function parse(typed: string): { value: unknown } | { error: string } {
  try {
    return { value: JSON.parse(typed) as unknown };
  } catch (error) {
    return { error: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
