// For views that show jobs inside other documents: a delivery, a tick. An event cannot patch those, so they are read again.
import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { JobEvent, LiveEvent } from './events';
import { useLiveEvents } from './LiveProvider';
import { Soon } from './soon';

const SOON_MS = 700;

/** Reads what lies under the key again, soon, when a job moved that the view is about. */
export function useReread(key: QueryKey, isAbout: (job: JobEvent) => boolean): void {
  const cache = useQueryClient();
  const [soon] = useState(() => new Soon(cache));
  const latest = useRef({ key, isAbout });
  useEffect(() => {
    latest.current = { key, isAbout };
  });
  useEffect(() => () => soon.clear(), [soon]);
  useLiveEvents(
    useCallback(
      (events: LiveEvent[]) => {
        const { key: name, isAbout: concerns } = latest.current;
        if (events.some((event) => event.name === 'job' && concerns(event.data)))
          soon.invalidate(name, SOON_MS);
      },
      [soon],
    ),
  );
}
