// Reads a part of the cache again, soon and once, however many events asked for it.
import type { QueryClient, QueryKey } from '@tanstack/react-query';

export class Soon {
  readonly #cache: QueryClient;
  readonly #waiting = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(cache: QueryClient) {
    this.#cache = cache;
  }

  /** At most once per `milliseconds`; never put off by further events, so that a busy system is still read. */
  readonly invalidate = (key: QueryKey, milliseconds: number): void => {
    const name = JSON.stringify(key);
    if (this.#waiting.has(name)) return;
    const timer = setTimeout(() => {
      this.#waiting.delete(name);
      void this.#cache.invalidateQueries({ queryKey: key });
    }, milliseconds);
    this.#waiting.set(name, timer);
  };

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
