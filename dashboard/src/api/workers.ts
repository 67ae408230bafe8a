// Workers: their sessions, and what each runs.
import { useQuery } from '@tanstack/react-query';
import { answer, client } from './client';
import { keys } from './keys';

export function useWorkers() {
  return useQuery({
    queryKey: keys.workers.list,
    queryFn: ({ signal }) => answer(client.GET('/api/v1/workers', { signal })),
    refetchInterval: 10_000,
  });
}

export function useWorkerJobs(worker: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.workers.jobs(worker),
    queryFn: ({ signal }) =>
      answer(client.GET('/api/v1/workers/{worker}/jobs', { params: { path: { worker } }, signal })),
    enabled,
    refetchInterval: 5_000,
  });
}
