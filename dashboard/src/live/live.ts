// The tab's end of the live feed: follows through the shared worker, or by itself where there is none, and keeps what
// the banner says.
import type { QueryClient } from '@tanstack/react-query';
import type { LiveEvent } from './events';
import { Feed, SILENCE_MS, type Connection } from './feed';
import type { ToTab, ToWorker } from './messages';
import { Patcher } from './patch';
import { Soon } from './soon';

export type Liveness =
  | { state: 'connecting' }
  | { state: 'live' }
  /** Connected, as far as one knows, and silent for too long. */
  | { state: 'stale'; since: number }
  | { state: 'lost'; since: number; retryAt: number }
  | { state: 'refused'; status: number };

/** How often everything on the screen is read again where the server gives us no stream. */
export const REREAD_MS = 15_000;

interface Line {
  send(message: ToWorker): void;
  close(): void;
}

export class Live {
  readonly #cache: QueryClient;
  readonly #soon: Soon;
  readonly #patcher: Patcher;
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<(events: LiveEvent[]) => void>();
  #line: Line | null = null;
  #tenant: string | null = null;
  #liveness: Liveness = { state: 'connecting' };
  #heardAt = Date.now();
  #readAt = Date.now();
  #missed = false;
  #checks: ReturnType<typeof setInterval> | undefined;

  constructor(cache: QueryClient) {
    this.#cache = cache;
    this.#soon = new Soon(cache);
    this.#patcher = new Patcher(cache, this.#soon.invalidate);
  }

  start(tenant: string | null): void {
    this.stop();
    this.#tenant = tenant;
    this.#heardAt = Date.now();
    // What is fetched before the stream is joined may change without a word until it is, also where another tab has it open.
    this.#missed = true;
    this.#become({ state: 'connecting' });
    this.#line = openLine((message) => this.#hear(message));
    this.#line.send({ type: 'follow', tenant });
    this.#checks = setInterval(() => this.#check(), 1_000);
    addEventListener('online', this.#hurry);
    addEventListener('pagehide', this.#leave);
    addEventListener('pageshow', this.#return);
    document.addEventListener('visibilitychange', this.#hurry);
  }

  stop(): void {
    this.#line?.close();
    this.#line = null;
    clearInterval(this.#checks);
    this.#soon.clear();
    removeEventListener('online', this.#hurry);
    removeEventListener('pagehide', this.#leave);
    removeEventListener('pageshow', this.#return);
    document.removeEventListener('visibilitychange', this.#hurry);
  }

  /** Once more, now. */
  readonly retry = (): void => {
    this.#line?.send({ type: 'hurry' });
    void this.#cache.invalidateQueries();
  };

  readonly watch = (changed: () => void): (() => void) => {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  };

  readonly liveness = (): Liveness => this.#liveness;

  /** For a view that wants the events themselves. */
  readonly listen = (listener: (events: LiveEvent[]) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #hear(message: ToTab): void {
    if (message.type === 'events') {
      this.#heardAt = Date.now();
      if (this.#liveness.state !== 'live') this.#recovered();
      this.#patcher.apply(message.events);
      for (const listener of this.#listeners) listener(message.events);
      return;
    }
    this.#connection(message.connection);
  }

  #connection(connection: Connection): void {
    if (connection.state === 'open') {
      this.#heardAt = Date.now();
      this.#recovered();
    } else if (connection.state === 'lost') {
      this.#missed = true;
      // What is on the screen is as old as the last word, not as the moment in which the loss was noticed.
      this.#become({ state: 'lost', since: this.#heardAt, retryAt: connection.retryAt });
    } else if (connection.state === 'refused') {
      this.#missed = true;
      // What is on the screen was read about when it was first refused; a further refusal puts nothing off.
      if (this.#liveness.state !== 'refused') this.#readAt = Date.now();
      this.#become({ state: 'refused', status: connection.status });
      // The key may be gone; whoever asks who they are is told.
      if (connection.status === 401) void this.#cache.invalidateQueries({ queryKey: ['whoami'] });
    } else {
      // "Connecting" after a loss stays a loss until it is open: a banner must not blink. And what is fetched before the
      // stream is open may change without a word until it is.
      this.#missed = true;
    }
  }

  #recovered(): void {
    this.#become({ state: 'live' });
    if (!this.#missed) return;
    this.#missed = false;
    // The stream resumes without a gap, but what was fetched and refused meanwhile was not.
    this.#soon.invalidate([], 0);
  }

  #check(): void {
    const silent = Date.now() - this.#heardAt;
    if (silent > SILENCE_MS && (this.#liveness.state === 'live' || this.#liveness.state === 'connecting')) {
      this.#missed = true;
      this.#become({ state: 'stale', since: this.#heardAt });
    }
    if (
      this.#liveness.state === 'refused' &&
      Date.now() - this.#readAt >= REREAD_MS &&
      document.visibilityState === 'visible'
    ) {
      this.#readAt = Date.now();
      void this.#cache.invalidateQueries();
    }
    // A worker that the browser has ended or frozen says nothing at all: ask it again, which starts a new one.
    if (silent > SILENCE_MS * 2 && this.#liveness.state === 'stale') {
      this.#line?.close();
      this.#line = openLine((message) => this.#hear(message));
      this.#line.send({ type: 'follow', tenant: this.#tenant });
      this.#heardAt = Date.now() - SILENCE_MS;
    }
  }

  readonly #hurry = (): void => {
    if (document.visibilityState === 'visible') this.#line?.send({ type: 'hurry' });
  };

  readonly #leave = (): void => this.#line?.send({ type: 'leave' });

  readonly #return = (event: PageTransitionEvent): void => {
    if (!event.persisted) return;
    this.#line?.send({ type: 'follow', tenant: this.#tenant });
    void this.#cache.invalidateQueries();
  };

  #become(liveness: Liveness): void {
    this.#liveness = liveness;
    for (const changed of this.#watchers) changed();
  }
}

/** Another key is in force: what the browser's tabs follow belongs to the one before. */
export function restartStreams(): void {
  if (!('SharedWorker' in globalThis)) return;
  const line = openShared(() => undefined);
  line.send({ type: 'restart' });
  line.close();
}

function openLine(hear: (message: ToTab) => void): Line {
  return 'SharedWorker' in globalThis ? openShared(hear) : openOwn(hear);
}

function openShared(hear: (message: ToTab) => void): Line {
  const worker = new SharedWorker(new URL('./feed.worker.ts', import.meta.url), {
    type: 'module',
    name: 'foreman-live',
  });
  worker.port.addEventListener('message', (event: MessageEvent<ToTab>) => hear(event.data));
  worker.port.start();
  return {
    send: (message) => worker.port.postMessage(message),
    close: () => {
      worker.port.postMessage({ type: 'leave' } satisfies ToWorker);
      worker.port.close();
    },
  };
}

function openOwn(hear: (message: ToTab) => void): Line {
  let feed: Feed | null = null;
  let followed: string | null = null;
  const follow = (tenant: string | null) => {
    feed?.stop();
    followed = tenant;
    feed = new Feed({
      tenant,
      listener: {
        events: (events) => hear({ type: 'events', events }),
        connection: (connection) => hear({ type: 'connection', connection }),
      },
    });
    void feed.run();
  };
  return {
    send: (message) => {
      if (message.type === 'follow') follow(message.tenant);
      else if (message.type === 'hurry') feed?.hurry();
      else if (message.type === 'restart') follow(followed);
      else feed?.stop();
    },
    close: () => feed?.stop(),
  };
}
