// Queues: how deep, how fast, how old, and whether they are paused.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answer, client } from './client';
import { keys } from './keys';

export function useQueues() {
  return useQuery({
    queryKey: keys.queues,
    queryFn: ({ signal }) => answer(client.GET('/api/v1/queues', { signal })),
    refetchInterval: 15_000,
  });
}

export function usePauseQueue() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ queue, paused }: { queue: string; paused: boolean }) => {
      const params = { path: { queue } };
      return paused
        ? answer(client.POST('/api/v1/queues/{queue}/pause', { params }))
        : answer(client.POST('/api/v1/queues/{queue}/resume', { params }));
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: keys.queues }),
        cache.invalidateQueries({ queryKey: keys.overview }),
      ]),
  });
}
