import { QueryClient, type QueryKey } from '@tanstack/react-query';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Job, Page } from '@/api/documents';
import { keys } from '@/api/keys';
import { job } from '@/testing/server';
import type { JobEvent, LiveEvent } from './events';
import { Heard } from './heard';
import { Patcher } from './patch';

const LIST = keys.jobs.list({ filter: {} });

let cache: QueryClient;
let asked: string[];
let memory: Heard;
let patcher: Patcher;

beforeEach(() => {
  cache = new QueryClient();
  asked = [];
  memory = new Heard();
  patcher = new Patcher(cache, (key: QueryKey) => void asked.push(JSON.stringify(key)), memory);
});

function told(of: Job, fields: Partial<JobEvent>): LiveEvent {
  return {
    name: 'job',
    data: {
      id: of.id,
      state: 'running',
      queue: of.queue,
      attempt: 1,
      at: '2026-11-15T12:00:05Z',
      sequence: 2,
      ...fields,
    },
  };
}

function listed(): Job[] {
  return cache.getQueryData<Page<Job>>(LIST)?.items ?? [];
}

describe('what the stream tells', () => {
  it('changes the row in every list that has it, and only that', () => {
    const [one, other] = [job(), job()];
    cache.setQueryData(LIST, { items: [one, other], next: null });
    patcher.apply([told(one, { sequence: 2 })]);
    expect(listed().map(({ state }) => state)).toEqual(['running', 'pending']);
    expect(listed()[0]?.started_at).toBe('2026-11-15T12:00:05Z');
    expect(listed()[1]).toBe(other);
    expect(asked).not.toContain(JSON.stringify(LIST));
  });

  it('is ignored when it is older than what is known', () => {
    const known = job({ state: 'completed', sequence: 3 });
    cache.setQueryData(LIST, { items: [known], next: null });
    patcher.apply([
      told(known, { state: 'running', sequence: 2 }),
      told(known, { state: 'running', sequence: 3 }),
    ]);
    expect(listed()[0]).toBe(known);
  });

  it('is taken though moves in between were merged, and the rest is read again', () => {
    const known = job({ sequence: 1 });
    cache.setQueryData(LIST, { items: [known], next: null });
    patcher.apply([told(known, { state: 'completed', sequence: 3 })]);
    expect(listed()[0]).toMatchObject({
      state: 'completed',
      sequence: 3,
      finished_at: '2026-11-15T12:00:05Z',
    });
    expect(asked).toContain(JSON.stringify(LIST));
  });

  it('is taken in the order of the job, not of arrival', () => {
    const known = job({ sequence: 1 });
    cache.setQueryData(LIST, { items: [known], next: null });
    patcher.apply([
      told(known, { state: 'completed', sequence: 3 }),
      told(known, { state: 'running', sequence: 2 }),
    ]);
    expect(listed()[0]?.state).toBe('completed');
  });

  it('makes a list look again whose first answer was on its way', () => {
    void cache.fetchQuery({ queryKey: LIST, queryFn: () => new Promise(() => undefined) });
    patcher.apply([told(job(), { sequence: 1, state: 'pending' })]);
    expect(asked).toContain(JSON.stringify(LIST));
  });

  it('makes a list look for a job that it does not have', () => {
    cache.setQueryData(LIST, { items: [job()], next: null });
    patcher.apply([told(job(), { sequence: 1, state: 'pending' })]);
    expect(asked).toContain(JSON.stringify(LIST));
  });

  it('reads the error of a row that has got one, for it is not in the event', () => {
    const known = job({ state: 'running', sequence: 2 });
    cache.setQueryData(LIST, { items: [known], next: null });
    patcher.apply([told(known, { state: 'retrying', sequence: 3 })]);
    expect(asked).toContain(JSON.stringify(LIST));
  });

  it('reads the attempts of an open job again', () => {
    const known = job();
    cache.setQueryData(keys.jobs.one(known.id), known);
    patcher.apply([told(known, {})]);
    expect(cache.getQueryData<Job>(keys.jobs.one(known.id))?.state).toBe('running');
    expect(asked).toContain(JSON.stringify(keys.jobs.one(known.id)));
  });

  it('is not undone by an answer that was on its way meanwhile', () => {
    const known = job({ sequence: 1 });
    patcher.apply([told(known, { state: 'completed', sequence: 3 })]);
    expect(memory.reconcile(known)).toMatchObject({ state: 'completed', sequence: 3 });
    const newer = { ...known, state: 'dead' as const, sequence: 4 };
    expect(memory.reconcile(newer)).toBe(newer);
  });

  it('pauses a queue where it is shown', () => {
    cache.setQueryData(keys.queues, {
      items: [
        { name: 'mail', paused: false },
        { name: 'other', paused: false },
      ],
    });
    patcher.apply([{ name: 'queue', data: { name: 'mail', paused: true, at: '' } }]);
    expect(cache.getQueryData(keys.queues)).toMatchObject({ items: [{ paused: true }, { paused: false }] });
  });

  it('reads everything again when the stream could not go on where it was', () => {
    patcher.apply([{ name: 'reset', data: { reason: 'expired', detail: '', at: '' } }]);
    expect(asked).toEqual(['[]']);
  });
});
