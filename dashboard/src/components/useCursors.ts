// Walking through pages by cursor. The way back is remembered here, for a cursor only leads on.
import { useState } from 'react';

export interface Cursors {
  cursor: string | undefined;
  pager: (next: string | null | undefined) => {
    onPrevious?: (() => void) | undefined;
    onNext?: (() => void) | undefined;
  };
}

export function useCursors(): Cursors {
  const [seen, setSeen] = useState<string[]>([]);
  return {
    cursor: seen.at(-1),
    pager: (next) => ({
      onPrevious: seen.length === 0 ? undefined : () => setSeen((before) => before.slice(0, -1)),
      onNext: next === null || next === undefined ? undefined : () => setSeen((before) => [...before, next]),
    }),
  };
}
