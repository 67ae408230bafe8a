// One clock for all that counts on the screen, so that they tick together.
import { useSyncExternalStore } from 'react';

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

function watch(changed: () => void): () => void {
  watchers.add(changed);
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of watchers) each();
    }, 1_000);
  }
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}
