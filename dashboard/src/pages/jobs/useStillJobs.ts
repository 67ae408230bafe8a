import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { JobFilter, Page, Job } from '@/api/documents';
import { fetchJobs, MAX_PAGE, PAGE } from '@/api/jobs';
import { keys } from '@/api/keys';
import { useLiveEvents } from '@/live/LiveProvider';
import type { LiveEvent } from '@/live/events';
import { anew, settle, told, type Still } from './still';

export function useStillJobs(filter: JobFilter, cursor: string | undefined, isHeld: boolean) {
  const [still, setStill] = useState<Still | null>(null);
  const key = JSON.stringify([filter, cursor ?? null]);
  const query = useQuery<Page<Job>>({
    queryKey: keys.jobs.list({ filter, cursor }),
    // As many more as are known to have arrived, so that the rows on the screen are among the answer.
    queryFn: ({ signal }) => {
      const waiting = still?.key === key ? still.waiting : 0;
      return fetchJobs(
        { filter, cursor },
        cursor === undefined ? Math.min(MAX_PAGE, PAGE + waiting) : PAGE,
        signal,
      );
    },
    placeholderData: keepPreviousData,
  });
  const page = query.isPlaceholderData ? undefined : query.data;
  const settled =
    page === undefined ? still : settle(still, { key, page, flows: cursor === undefined && !isHeld });
  if (settled !== still) setStill(settled);

  useLiveEvents(useCallback((events: LiveEvent[]) => setStill((before) => told(before, events)), []));

  const { refetch } = query;
  const showNew = useCallback(async () => {
    setStill(anew(key, await fetchJobs({ filter, cursor }, PAGE)));
    void refetch();
  }, [filter, cursor, key, refetch]);

  return { still: settled, isCurrent: settled?.key === key, query, showNew };
}
