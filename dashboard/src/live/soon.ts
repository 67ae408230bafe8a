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
      // A first answer that is on its way may have been read before the event, and is not asked for twice while it is.
      if (this.#isFirstOnItsWay(key)) this.invalidate(key, Math.max(250, milliseconds));
      void this.#cache.invalidateQueries({ queryKey: key });
    }, milliseconds);
    this.#waiting.set(name, timer);
  };

  #isFirstOnItsWay(queryKey: QueryKey): boolean {
    return this.#cache
      .getQueryCache()
      .findAll({ queryKey })
      .some(({ state }) => state.fetchStatus === 'fetching' && state.data === undefined);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
