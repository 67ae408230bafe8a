// Holds one connection to the stream for one tenant, for as long as anybody follows.
//
// It resumes where it was by `Last-Event-ID`, so a lost connection costs time and no change. Two of it merely read the
// same stream twice. When nothing at all arrives for `SILENCE`, the connection is taken for broken and made anew.
import { readEvent, type LiveEvent } from './events';
import { SseParser } from './sse';

/** The server speaks every 15 s at least. */
export const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;

export type Connection =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'lost'; retryAt: number }
  | { state: 'refused'; status: number };

export interface FeedListener {
  events(events: LiveEvent[]): void;
  connection(connection: Connection): void;
}

export interface FeedOptions {
  tenant: string | null;
  listener: FeedListener;
  fetch?: typeof fetch;
  random?: () => number;
}

export class Feed {
  connection: Connection = { state: 'connecting' };

  readonly #tenant: string | null;
  readonly #listener: FeedListener;
  readonly #fetch: typeof fetch;
  readonly #random: () => number;
  #cursor = '';
  #failures = 0;
  #retry = FIRST_WAIT_MS;
  #stopped = false;
  #abort = new AbortController();
  #wake: (() => void) | null = null;

  constructor({
    tenant,
    listener,
    fetch = globalThis.fetch.bind(globalThis),
    random = Math.random,
  }: FeedOptions) {
    this.#tenant = tenant;
    this.#listener = listener;
    this.#fetch = fetch;
    this.#random = random;
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      this.#say({ state: 'connecting' });
      const refused = await this.#follow();
      if (this.#stopped) return;
      this.#failures += 1;
      const wait = this.#wait();
      this.#say(
        refused === null
          ? { state: 'lost', retryAt: Date.now() + wait }
          : { state: 'refused', status: refused },
      );
      await this.#pause(wait);
    }
  }

  /** Somebody looks, or the network is back: do not wait any longer. */
  hurry(): void {
    this.#wake?.();
  }

  stop(): void {
    this.#stopped = true;
    this.#abort.abort();
    this.#wake?.();
  }

  /** Returns when the connection is over: with the status if the server refused, else `null`. */
  async #follow(): Promise<number | null> {
    this.#abort = new AbortController();
    const abort = this.#abort;
    let watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      const response = await this.#fetch('/api/v1/stream', {
        headers: this.#headers(),
        credentials: 'same-origin',
        cache: 'no-store',
        signal: abort.signal,
      });
      if (!response.ok || response.body === null) return response.status;
      this.#say({ state: 'open' });
      const parser = new SseParser();
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return null;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
        this.#take(parser, decoder.decode(value, { stream: true }));
      }
    } catch {
      return null;
    } finally {
      clearTimeout(watchdog);
    }
  }

  #take(parser: SseParser, text: string): void {
    const events: LiveEvent[] = [];
    for (const told of parser.push(text)) {
      if (told.id !== '') this.#cursor = told.id;
      const event = readEvent(told);
      if (event !== null) events.push(event);
    }
    if (parser.retry !== null) this.#retry = Math.max(100, parser.retry);
    if (events.length === 0) return;
    this.#failures = 0;
    this.#listener.events(events);
  }

  #headers(): Record<string, string> {
    return {
      Accept: 'text/event-stream',
      ...(this.#cursor === '' ? {} : { 'Last-Event-ID': this.#cursor }),
      ...(this.#tenant === null ? {} : { 'Foreman-Tenant': this.#tenant }),
    };
  }

  /** Doubles with every failure; half of it is chance, so that a restarted server is not met by everyone at once. */
  #wait(): number {
    const longest = Math.min(LONGEST_WAIT_MS, this.#retry * 2 ** Math.min(this.#failures - 1, 6));
    return longest / 2 + this.#random() * (longest / 2);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #say(connection: Connection): void {
    this.connection = connection;
    this.#listener.connection(connection);
  }
}
