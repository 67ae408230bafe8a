import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { EMPTY, type JobDraft } from './draft';
import { beyondCli, cliLine, curlLine, quote } from './shell';
import { writtenOf } from './spec';

const SERVER = { origin: 'http://127.0.0.1:8080', needsKey: false, tenant: null };

/** What a real shell makes of it: the words that the program would be given. */
function words(line: string, program: string): string[] {
  const script = `${program}() { printf '%s\\0' "$@"; }\n${line}`;
  const told = execFileSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, FOREMAN_API_KEY: 'fm_k' },
  });
  return told.split('\0').slice(0, -1);
}

const NASTY = [
  'plain',
  '',
  "it's",
  "'",
  "''",
  `"quotes" and 'ticks'`,
  '$(touch /tmp/pwned) `id` $HOME',
  'back\\slash \\n',
  'a\nb\n',
  '; rm -rf / #',
  '!history! *.ts ~ {a,b} [x]',
  '=ls',
  'ünïcödé 🚂',
  '<script>alert(1)</script>',
];

describe('a word for the shell', () => {
  test.each(NASTY)('%j stays what it is', (word) => {
    expect(words(`p ${quote(word)} end`, 'p')).toEqual([word, 'end']);
  });

  test('what needs no quotes gets none', () => {
    expect(quote('https://example.com/a?b=1')).toBe("'https://example.com/a?b=1'");
    expect(quote('https://example.com/a')).toBe('https://example.com/a');
  });
});

function draft(part: Partial<JobDraft>): JobDraft {
  return { ...EMPTY, url: 'https://example.com/hook', ...part };
}

/** The command line's own flags, as a list of name and value. */
function flags(line: string): [string, string][] {
  const [verb, ...rest] = words(line, 'foreman');
  expect(verb).toBe('submit');
  const found: [string, string][] = [];
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? '';
    const equals = word.indexOf('=');
    if (word.startsWith('--') && equals > 0) found.push([word.slice(0, equals), word.slice(equals + 1)]);
    else {
      found.push([word, rest[at + 1] ?? '']);
      at += 1;
    }
  }
  return found;
}

test('a shell that runs the curl line sends the very job that is in the form', () => {
  for (const nasty of NASTY.filter((word) => word !== '')) {
    const written = writtenOf(
      draft({
        payload: JSON.stringify({ nasty }),
        headers: [{ name: 'X-Nasty', value: nasty }],
        tags: 'eu, spring',
      }),
    );
    const sent = words(curlLine(written, SERVER), 'curl');
    expect(sent.slice(0, 4)).toEqual([
      'http://127.0.0.1:8080/api/v1/jobs',
      '-H',
      'Content-Type: application/json',
      '-d',
    ]);
    expect(JSON.parse(sent[4] ?? '')).toEqual({
      url: 'https://example.com/hook',
      headers: { 'X-Nasty': nasty },
      tags: ['eu', 'spring'],
      payload: { nasty },
    });
  }
});

test('the key is named by its variable and never written out', () => {
  const line = curlLine(writtenOf(draft({})), { ...SERVER, needsKey: true, tenant: 'acme' });
  expect(line).toContain('"Authorization: Bearer $FOREMAN_API_KEY"');
  expect(words(line, 'curl')).toContain('Authorization: Bearer fm_k');
  expect(words(line, 'curl')).toContain('Foreman-Tenant: acme');
});

test('the command line has every field under its own flag', () => {
  const line = cliLine(
    writtenOf(
      draft({
        method: 'PUT',
        headers: [{ name: 'X-A', value: "it's: b" }],
        payload: '{"n": 1}',
        queue: 'mail',
        priority: 'high',
        kind: 'welcome',
        tags: 'a, b c',
        correlationId: 'order 7',
        maxAttempts: '3',
        timeout: '30s',
        backoffBase: '1s',
        backoffFactor: '2',
        backoffCap: '1m',
        when: 'delay',
        delay: '1h30m',
        idempotencyKey: 'once',
        callbackUrl: 'https://example.com/done?x=1&y=2',
      }),
    ),
    { ...SERVER, origin: 'https://jobs.example.com', tenant: 'acme' },
  );
  expect(flags(line)).toEqual([
    ['--url', 'https://example.com/hook'],
    ['--method', 'PUT'],
    ['--header', "X-A: it's: b"],
    ['--payload', '{"n": 1}'],
    ['--queue', 'mail'],
    ['--priority', 'high'],
    ['--kind', 'welcome'],
    ['--tag', 'a'],
    ['--tag', 'b c'],
    ['--max-attempts', '3'],
    ['--timeout', '30s'],
    ['--backoff-base', '1s'],
    ['--backoff-factor', '2'],
    ['--backoff-cap', '1m'],
    ['--correlation-id', 'order 7'],
    ['--callback-url', 'https://example.com/done?x=1&y=2'],
    ['--delay', '1h30m'],
    ['--idempotency-key', 'once'],
    ['--api-url', 'https://jobs.example.com'],
    ['--tenant', 'acme'],
  ]);
});

test('a payload that begins with a dash is no flag', () => {
  expect(flags(cliLine(writtenOf(draft({ target: 'task', task: 'count', payload: '-1' })), SERVER))).toEqual([
    ['--task', 'count'],
    ['--payload', '-1'],
  ]);
});

test('a program and its arguments stand behind two dashes, each as one word', () => {
  const line = cliLine(
    writtenOf(draft({ target: 'command', isShell: false, command: "/bin/echo\n--wait\nit's $HOME" })),
    SERVER,
  );
  expect(words(line, 'foreman')).toEqual(['submit', '--', '/bin/echo', '--wait', "it's $HOME"]);
});

test('a body that the command line would read from a file is left out, and that is said', () => {
  const written = writtenOf(draft({ content: 'text', body: '@/etc/passwd' }));
  expect(cliLine(written, SERVER)).not.toContain('passwd');
  expect(beyondCli(written.spec)).toEqual(['body']);
  expect(curlLine(written, SERVER)).toContain('@/etc/passwd');
});
