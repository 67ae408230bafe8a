import { useSyncExternalStore } from 'react';

/** As wide as Tailwind's `lg`. */
const wide = matchMedia('(min-width: 64rem)');

function watch(changed: () => void): () => void {
  wide.addEventListener('change', changed);
  return () => wide.removeEventListener('change', changed);
}

export function useIsWide(): boolean {
  return useSyncExternalStore(watch, () => wide.matches);
}
