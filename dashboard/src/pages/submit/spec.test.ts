import { expect, test } from 'vitest';
import { job } from '@/testing/server';
import { draftOf, EMPTY, type JobDraft } from './draft';
import { isAimed, tagsOf, textOf, writtenOf } from './spec';

function draft(part: Partial<JobDraft>): JobDraft {
  return { ...EMPTY, url: 'https://example.com/hook', ...part };
}

test('an empty form asks for nothing', () => {
  expect(writtenOf(EMPTY)).toEqual({ spec: {}, payload: null, mistakes: {} });
  expect(isAimed(writtenOf(EMPTY))).toBe(false);
  expect(isAimed(writtenOf(draft({})))).toBe(true);
});

test('a number of twenty digits reaches the server to the letter', () => {
  const written = writtenOf(draft({ payload: '{"n": 12345678901234567890, "x": 1.0}' }));
  expect(textOf(written)).toBe(
    '{"url":"https://example.com/hook","payload":{"n": 12345678901234567890, "x": 1.0}}',
  );
  expect(textOf(written, 2)).toContain('"payload": {"n": 12345678901234567890, "x": 1.0}');
});

test('the text is JSON with a payload, without one, and with nothing but one', () => {
  for (const part of [{}, { payload: '[1,\n2]' }, { payload: 'null' }, { url: '', payload: '{"a":\n 1}' }]) {
    const written = writtenOf(draft(part));
    expect(JSON.parse(textOf(written))).toEqual(written.spec);
    expect(JSON.parse(textOf(written, 2))).toEqual(written.spec);
  }
});

test('what is not JSON is said where it stands, and is not sent', () => {
  const written = writtenOf(draft({ payload: '{n: 1}' }));
  expect(written.mistakes['/payload']).toMatch(/is not JSON/);
  expect(written.spec.payload).toBeUndefined();
  expect(written.payload).toBeNull();
});

test('only the fields of the chosen target are sent', () => {
  const part = { task: 'welcome', command: 'echo hi', headers: [{ name: 'A', value: 'b' }] };
  expect(writtenOf(draft(part)).spec).toEqual({ url: 'https://example.com/hook', headers: { A: 'b' } });
  expect(writtenOf(draft({ ...part, target: 'task' })).spec).toEqual({ task: 'welcome' });
  expect(writtenOf(draft({ ...part, target: 'command' })).spec).toEqual({ command: 'echo hi' });
  expect(writtenOf(draft({ target: 'command', isShell: false, command: 'echo\nhi there' })).spec).toEqual({
    command: ['echo', 'hi there'],
  });
});

test('a header that is there twice, or has no name, is a mistake', () => {
  const twice = [
    { name: 'A/b', value: '1' },
    { name: 'A/b', value: '2' },
  ];
  expect(writtenOf(draft({ headers: twice })).mistakes).toEqual({ '/headers/A~1b': 'is listed twice' });
  expect(writtenOf(draft({ headers: [{ name: '', value: '1' }] })).mistakes).toEqual({
    '/headers/': 'has a value but no name',
  });
});

test('numbers that are none are told', () => {
  expect(writtenOf(draft({ maxAttempts: 'many' })).mistakes).toEqual({ '/max_attempts': 'is not a number' });
  expect(writtenOf(draft({ maxAttempts: '3' })).spec.max_attempts).toBe(3);
});

test('a time on the own clock becomes an instant', () => {
  const { spec } = writtenOf(draft({ when: 'at', runAt: '2026-12-01T09:00' }));
  expect(spec.run_at).toBe(new Date('2026-12-01T09:00').toISOString());
  expect(writtenOf(draft({ when: 'now', delay: '5m', runAt: '2026-12-01T09:00' })).spec).not.toHaveProperty(
    'delay',
  );
});

test('tags are separated by commas and keep their spaces', () => {
  expect(tagsOf(' eu , two words,, ')).toEqual(['eu', 'two words']);
});

test('a job that is edited and run again asks for the same, save its time and its idempotency key', () => {
  const asked = {
    url: 'https://example.com/hook',
    method: 'PUT',
    headers: { 'X-A': 'b' },
    payload: { n: 1 },
    queue: 'mail',
    priority: 'low' as const,
    kind: 'welcome',
    tags: ['eu'],
    correlation_id: 'order-7',
    max_attempts: 3,
    timeout: '30s',
    backoff: { base: '1s', factor: 2, cap: '1m' },
    callback_url: 'https://example.com/done',
  };
  const { spec } = writtenOf(draftOf(job({ ...asked, idempotency_key: 'once' } as never)));
  expect(spec).toEqual(asked);
});

test('a command keeps what the form does not show', () => {
  const asked = {
    command: ['a', 'b c'],
    env: { A: 'b' },
    cwd: '/srv',
    exit_codes: { completed: [0, 3], failed: [] },
  };
  expect(writtenOf(draftOf(asked)).spec).toEqual(asked);
});
