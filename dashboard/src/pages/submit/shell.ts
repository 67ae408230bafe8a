// The same job for a terminal. What is typed here is run by people, so whatever a payload holds stays one word.
import type { JobSpec } from '@/api/documents';
import { textOf, type Written } from './spec';

export interface Server {
  origin: string;
  /** Whether it asks for a key. It is named by its variable: a key has no place in a shell's history. */
  needsKey: boolean;
  /** Whose data an operator is looking at. */
  tenant: string | null;
}

// A word that begins with `=` is looked up as a command by zsh.
const PLAIN = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/;

/** One word of a POSIX shell, whatever is in it. */
export function quote(word: string): string {
  if (PLAIN.test(word)) return word;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

export function curlLine(written: Written, { origin, needsKey, tenant }: Server): string {
  return lines([
    `curl ${quote(`${origin}/api/v1/jobs`)}`,
    `-H ${quote('Content-Type: application/json')}`,
    ...(needsKey ? [`-H "Authorization: Bearer $FOREMAN_API_KEY"`] : []),
    ...(tenant === null ? [] : [`-H ${quote(`Foreman-Tenant: ${tenant}`)}`]),
    `-d ${quote(textOf(written, 2))}`,
  ]);
}

export function cliLine({ spec, payload }: Written, { origin, tenant }: Server): string {
  const flags: string[] = [];
  const flag = (name: string, value: string | number | null | undefined) => {
    if (value === null || value === undefined || value === '') return;
    const text = String(value);
    // `--payload=-1` is a value, `--payload -1` is another flag.
    flags.push(text.startsWith('-') ? `--${name}=${quote(text)}` : `--${name} ${quote(text)}`);
  };
  flag('url', spec.url);
  flag('task', spec.task);
  if (typeof spec.command === 'string') flag('command', spec.command);
  flag('method', spec.method);
  for (const [name, value] of Object.entries(spec.headers ?? {})) flag('header', `${name}: ${value}`);
  flag('payload', payload);
  flag('body', literal(spec.body));
  for (const [name, value] of Object.entries(spec.env ?? {})) flag('env', `${name}=${value}`);
  flag('cwd', spec.cwd);
  flag('queue', spec.queue);
  flag('priority', spec.priority);
  flag('kind', spec.kind);
  for (const tag of spec.tags ?? []) flag('tag', tag);
  flag('max-attempts', spec.max_attempts);
  flag('timeout', spec.timeout);
  flag('backoff-base', spec.backoff?.base);
  flag('backoff-factor', spec.backoff?.factor);
  flag('backoff-cap', spec.backoff?.cap);
  flag('correlation-id', spec.correlation_id);
  flag('callback-url', spec.callback_url);
  flag('delay', spec.delay);
  flag('run-at', spec.run_at);
  flag('idempotency-key', spec.idempotency_key);
  if (origin !== 'http://127.0.0.1:8080') flag('api-url', origin);
  flag('tenant', tenant);
  if (Array.isArray(spec.command)) flags.push(['--', ...spec.command.map(quote)].join(' '));
  return lines(['foreman submit', ...flags]);
}

/** What the command line has no word for. */
export function beyondCli(spec: JobSpec): string[] {
  return [
    ...(spec.exit_codes === null || spec.exit_codes === undefined ? [] : ['exit_codes']),
    ...(spec.body !== null && spec.body !== undefined && isRead(spec.body) ? ['body'] : []),
  ];
}

/** The command line reads a file for `@…` and its input for `-`. */
function isRead(body: string): boolean {
  return body === '-' || body.startsWith('@');
}

function literal(body: string | null | undefined): string | null {
  return body === null || body === undefined || isRead(body) ? null : body;
}

function lines(parts: string[]): string {
  return parts.join(' \\\n  ');
}
