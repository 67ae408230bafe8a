// What the form holds while somebody writes a job: text as it was typed, right or wrong.
import type { Job, JobSpec, Lane } from '@/api/documents';

export type Target = 'url' | 'task' | 'command';
export type Content = 'json' | 'text';
export type When = 'now' | 'delay' | 'at';

export interface Pair {
  name: string;
  value: string;
}

export interface JobDraft {
  target: Target;
  url: string;
  method: string;
  headers: Pair[];
  /** What goes along: the request's body, the task's argument, the command's input. */
  content: Content;
  payload: string;
  body: string;
  task: string;
  command: string;
  /** The command is a line for a shell; else one word per line. */
  isShell: boolean;
  env: Pair[];
  cwd: string;
  queue: string;
  priority: Lane | '';
  kind: string;
  tags: string;
  correlationId: string;
  maxAttempts: string;
  timeout: string;
  backoffBase: string;
  backoffFactor: string;
  backoffCap: string;
  when: When;
  delay: string;
  /** As the browser's own field has it, in the reader's zone. */
  runAt: string;
  idempotencyKey: string;
  callbackUrl: string;
  /** What the form does not show and must not lose. */
  rest: Pick<JobSpec, 'exit_codes'>;
}

export const EMPTY: JobDraft = {
  target: 'url',
  url: '',
  method: '',
  headers: [],
  content: 'json',
  payload: '',
  body: '',
  task: '',
  command: '',
  isShell: true,
  env: [],
  cwd: '',
  queue: '',
  priority: '',
  kind: '',
  tags: '',
  correlationId: '',
  maxAttempts: '',
  timeout: '',
  backoffBase: '',
  backoffFactor: '',
  backoffCap: '',
  when: 'now',
  delay: '',
  runAt: '',
  idempotencyKey: '',
  callbackUrl: '',
  rest: {},
};

/**
 * A draft of a job or of a schedule's job. Its time and its idempotency key are left out: the one has passed, and the
 * other would only find the job that was.
 */
export function draftOf(spec: JobSpec | Job): JobDraft {
  const { command } = spec;
  return {
    ...EMPTY,
    target: text(spec.task) === '' ? (command === null || command === undefined ? 'url' : 'command') : 'task',
    url: text(spec.url),
    // The usual is left unsaid.
    method: spec.method === 'POST' ? '' : text(spec.method),
    headers: pairs(spec.headers),
    content: text(spec.body) === '' ? 'json' : 'text',
    payload: spec.payload === undefined || spec.payload === null ? '' : JSON.stringify(spec.payload, null, 2),
    body: text(spec.body),
    task: text(spec.task),
    command: Array.isArray(command) ? command.join('\n') : text(command),
    isShell: !Array.isArray(command),
    env: pairs(spec.env),
    cwd: text(spec.cwd),
    queue: text(spec.queue),
    priority: spec.priority === 'normal' ? '' : (spec.priority ?? ''),
    kind: text(spec.kind),
    tags: (spec.tags ?? []).join(', '),
    correlationId: text(spec.correlation_id),
    maxAttempts: number(spec.max_attempts),
    timeout: text(spec.timeout),
    backoffBase: text(spec.backoff?.base),
    backoffFactor: number(spec.backoff?.factor),
    backoffCap: text(spec.backoff?.cap),
    callbackUrl: text(spec.callback_url),
    rest: spec.exit_codes === null || spec.exit_codes === undefined ? {} : { exit_codes: spec.exit_codes },
  };
}

function text(value: string | null | undefined): string {
  return value ?? '';
}

function number(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

function pairs(map: Record<string, string> | null | undefined): Pair[] {
  return Object.entries(map ?? {}).map(([name, value]) => ({ name, value }));
}
