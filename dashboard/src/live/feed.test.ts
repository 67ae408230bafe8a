import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LiveEvent } from './events';
import { Feed, SILENCE_MS, type Connection } from './feed';

interface Opened {
  headers: Record<string, string>;
  signal: AbortSignal;
  send: (text: string) => void;
  end: () => void;
}

let opened: Opened[];
let answers: (() => Response)[];
let events: LiveEvent[];
let said: Connection[];
let feed: Feed;

function connect(_: unknown, init?: RequestInit): Promise<Response> {
  const answer = answers.shift();
  if (answer !== undefined) return Promise.resolve(answer());
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  init?.signal?.addEventListener('abort', () => controller?.error(new Error('aborted')));
  opened.push({
    headers: init?.headers as Record<string, string>,
    signal: init?.signal as AbortSignal,
    send: (text) => controller?.enqueue(new TextEncoder().encode(text)),
    end: () => controller?.close(),
  });
  return Promise.resolve(new Response(body));
}

function start(tenant: string | null = null): void {
  feed = new Feed({
    tenant,
    listener: { events: (more) => events.push(...more), connection: (connection) => said.push(connection) },
    fetch: connect as typeof fetch,
    random: () => 0,
  });
  void feed.run();
}

/** Whatever was promised has come, and no time has passed. */
const settled = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  answers = [];
  events = [];
  said = [];
});
afterEach(() => {
  feed.stop();
  vi.useRealTimers();
});

describe('the feed', () => {
  it('tells what arrives', async () => {
    start();
    await settled();
    opened[0]?.send('id: a1\nevent: heartbeat\ndata: {"at":"now"}\n\n');
    await settled();
    expect(events).toEqual([{ name: 'heartbeat', data: { at: 'now' } }]);
    expect(said.map(({ state }) => state)).toEqual(['connecting', 'open']);
  });

  it('goes on where it was when the connection is lost', async () => {
    start('red');
    await settled();
    expect(opened[0]?.headers).toEqual({ Accept: 'text/event-stream', 'Foreman-Tenant': 'red' });
    opened[0]?.send('id: a1\nevent: heartbeat\ndata: {}\n\n');
    await settled();
    opened[0]?.end();
    await settled();
    expect(said.at(-1)?.state).toBe('lost');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(opened[1]?.headers['Last-Event-ID']).toBe('a1');
    expect(said.at(-1)?.state).toBe('open');
  });

  it('takes a silent connection for broken', async () => {
    start();
    await settled();
    opened[0]?.send('event: heartbeat\ndata: {}\n\n');
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    expect(opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(opened[0]?.signal.aborted).toBe(true);
    expect(opened).toHaveLength(2);
  });

  it('waits longer after each failure, and not at all when hurried', async () => {
    answers = Array.from({ length: 3 }, () => () => {
      throw new TypeError('refused');
    });
    start();
    await settled();
    // Half of 1 s, then half of 2 s: chance adds nothing here.
    await vi.advanceTimersByTimeAsync(499);
    expect(answers).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(answers).toHaveLength(1);
    feed.hurry();
    await settled();
    expect(answers).toHaveLength(0);
  });

  it('says which status refused it', async () => {
    answers = [() => new Response(null, { status: 403 })];
    start();
    await settled();
    expect(said.at(-1)).toEqual({ state: 'refused', status: 403 });
  });

  it('leaves out events of a later version', async () => {
    start();
    await settled();
    opened[0]?.send('event: eclipse\ndata: {}\n\nevent: job\ndata: not json\n\n');
    await settled();
    expect(events).toEqual([]);
  });

  it('stops when told so, though it waits', async () => {
    answers = [() => new Response(null, { status: 503 })];
    start();
    await settled();
    feed.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(opened).toHaveLength(0);
  });
});
