// A server for tests: answers by method and path, and remembers what it was asked.
import type { ProblemDocument } from '@/api/problem';
import { vi } from 'vitest';
import type { Job } from '@/api/documents';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  headers: Headers;
}

type Answer = unknown | ((asked: Asked) => unknown);

/** Answers of another kind than 200 and JSON are given as a `Response`. */
export function serve(answers: Record<string, Answer>): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal('fetch', async (input: Request | string, init?: RequestInit) => {
    const request = new Request(typeof input === 'string' ? new URL(input, location.origin) : input, init);
    const url = new URL(request.url);
    const text = request.method === 'GET' ? '' : await request.text();
    const one: Asked = {
      method: request.method,
      path: url.pathname.replace('/api/v1', ''),
      query: url.searchParams,
      body: text === '' ? undefined : JSON.parse(text),
      headers: request.headers,
    };
    asked.push(one);
    const found = answers[`${one.method} ${one.path}`];
    if (found === undefined) return problem(404, 'Not found', `nothing answers ${one.method} ${one.path}`);
    const answer: unknown =
      typeof found === 'function' ? await (found as (asked: Asked) => unknown)(one) : found;
    return answer instanceof Response ? answer : Response.json(answer);
  });
  return asked;
}

export function problem(
  status: number,
  title: string,
  detail: string,
  instance = 'req-1',
  more: Partial<ProblemDocument> = {},
): Response {
  return new Response(JSON.stringify({ type: 'about:blank', title, status, detail, instance, ...more }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });
}

let made = 0;

export function job(fields: Partial<Job> = {}): Job {
  made += 1;
  const now = '2026-11-15T12:00:00.000000Z';
  return {
    id: `01a1e179-2ff7-7602-a29c-${String(made).padStart(12, '0')}`,
    state: 'pending',
    queue: 'mail',
    priority: 'normal',
    attempt: 0,
    max_attempts: 8,
    spent: 0,
    crashes: 0,
    created_at: now,
    run_at: now,
    sequence: 1,
    url: 'https://example.com/hook',
    method: 'POST',
    ...fields,
  } as Job;
}

export const WHO = {
  key: null,
  tenant: 'default',
  scopes: ['jobs:read', 'jobs:write', 'stream:read', 'admin'],
  limits: {},
};

export const OVERVIEW = {
  at: '2026-11-15T12:00:00Z',
  states: {},
  queues: 1,
  oldest_waiting: null,
  workers: null,
  attention: [],
};
