// How things stand, and how they went: what the overview is drawn from.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { answer, client } from './client';
import type { Step } from './documents';
import { keys } from './keys';

export function useOverview(enabled = true) {
  return useQuery({
    queryKey: keys.overview,
    queryFn: ({ signal }) => answer(client.GET('/api/v1/overview', { signal })),
    enabled,
    // Ages grow though nothing moves.
    refetchInterval: 15_000,
  });
}

export function useStatistics(step: Step, queue: string | undefined) {
  return useQuery({
    queryKey: keys.statistics.series(step, queue),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/statistics', {
          params: { query: { step, ...(queue === undefined ? {} : { queue }) } },
          signal,
        }),
      ),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });
}

export function useQueueStatistics(step: Step) {
  return useQuery({
    queryKey: keys.statistics.queues(step),
    queryFn: ({ signal }) =>
      answer(client.GET('/api/v1/statistics/queues', { params: { query: { step } }, signal })),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });
}
