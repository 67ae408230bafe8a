import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SILENCE_MS } from './feed';
import { Live, REREAD_MS } from './live';

let send: (text: string) => void;
let end: () => void;
let live: Live;
let cache: QueryClient;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('SharedWorker', undefined);
  // @ts-expect-error -- a browser that has none
  delete globalThis.SharedWorker;
  vi.stubGlobal('fetch', () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
    send = (text) => controller?.enqueue(new TextEncoder().encode(text));
    end = () => controller?.close();
    return Promise.resolve(new Response(body));
  });
  cache = new QueryClient();
  live = new Live(cache);
  live.start(null);
});
afterEach(() => {
  live.stop();
  vi.useRealTimers();
});

const settled = () => vi.advanceTimersByTimeAsync(0);
const BEAT = 'event: heartbeat\ndata: {}\n\n';

describe('how live the page is', () => {
  it('is live while the server speaks', async () => {
    await settled();
    for (let beat = 0; beat < 6; beat += 1) {
      send(BEAT);
      await vi.advanceTimersByTimeAsync(15_000);
      expect(live.liveness().state).toBe('live');
    }
  });

  it('is lost when the connection ends, and live again when it is back', async () => {
    await settled();
    send(BEAT);
    await settled();
    const heardAt = Date.now();
    const invalidated = vi.spyOn(cache, 'invalidateQueries');
    await vi.advanceTimersByTimeAsync(10_000);
    end();
    await settled();
    expect(live.liveness(), 'as old as the last word').toMatchObject({ state: 'lost', since: heardAt });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(live.liveness().state).toBe('live');
    expect(invalidated, 'what was refused meanwhile is asked for again').toHaveBeenCalled();
  });

  it('is no longer live when nothing is heard for long', async () => {
    await settled();
    send(BEAT);
    await settled();
    vi.stubGlobal('fetch', () => new Promise(() => undefined));
    await vi.advanceTimersByTimeAsync(SILENCE_MS + 2_000);
    expect(live.liveness().state).not.toBe('live');
  });

  it('asks who one is when the stream is refused for want of a key', async () => {
    live.stop();
    const invalidated = vi.spyOn(cache, 'invalidateQueries');
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 401 })));
    live.start(null);
    await settled();
    expect(live.liveness()).toEqual({ state: 'refused', status: 401 });
    expect(invalidated).toHaveBeenCalledWith({ queryKey: ['whoami'] });
  });

  it('reads everything again now and then where the stream is refused for want of a scope', async () => {
    live.stop();
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 403 })));
    live.start(null);
    await settled();
    expect(live.liveness()).toEqual({ state: 'refused', status: 403 });
    const invalidated = vi.spyOn(cache, 'invalidateQueries');
    await vi.advanceTimersByTimeAsync(REREAD_MS - 2_000);
    expect(invalidated).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(invalidated).toHaveBeenCalledExactlyOnceWith();
    await vi.advanceTimersByTimeAsync(REREAD_MS * 3);
    expect(invalidated).toHaveBeenCalledTimes(4);
  });

  it('reads again what was fetched before it joined a stream that another tab has open', async () => {
    live.stop();
    const channel = new EventTarget() as EventTarget & {
      start: () => void;
      close: () => void;
      postMessage: () => void;
    };
    channel.start = () => undefined;
    channel.close = () => undefined;
    // The worker has the stream already and says so at once.
    channel.postMessage = () =>
      void channel.dispatchEvent(
        new MessageEvent('message', { data: { type: 'connection', connection: { state: 'open' } } }),
      );
    vi.stubGlobal(
      'SharedWorker',
      class {
        port = channel;
      },
    );
    const invalidated = vi.spyOn(cache, 'invalidateQueries');
    live.start(null);
    await settled();
    expect(live.liveness().state).toBe('live');
    expect(invalidated).toHaveBeenCalled();
  });
});
