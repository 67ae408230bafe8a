import { useQueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import type { LiveEvent } from './events';
import { Live, type Liveness } from './live';

const Context = createContext<Live | null>(null);

/** Follows the stream for as long as it is shown. */
export function LiveProvider({ tenant, children }: { tenant: string | null; children: ReactNode }) {
  const cache = useQueryClient();
  const [live] = useState(() => new Live(cache));
  useEffect(() => {
    live.start(tenant);
    return () => live.stop();
  }, [live, tenant]);
  return <Context value={live}>{children}</Context>;
}

const never = (): (() => void) => () => undefined;
const CONNECTING: Liveness = { state: 'connecting' };

export function useLiveness(): Liveness {
  const live = useContext(Context);
  return useSyncExternalStore(live?.watch ?? never, live?.liveness ?? (() => CONNECTING));
}

export function useLive(): Live | null {
  return useContext(Context);
}

/** For a view that wants the events themselves; the cache is patched without it. */
export function useLiveEvents(listener: (events: LiveEvent[]) => void): void {
  const live = useContext(Context);
  useEffect(() => live?.listen(listener), [live, listener]);
}
