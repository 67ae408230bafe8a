// Workers: their sessions, and what each runs.
import { useQuery } from '@tanstack/react-query';
import { answer, answerWithTime, client } from './client';
import { keys } from './keys';

/** With the server's own time: whether a worker is late is not to be judged by the clock of whoever looks. */
export function useWorkers() {
  return useQuery({
    queryKey: keys.workers.list,
    queryFn: ({ signal }) => answerWithTime(client.GET('/api/v1/workers', { signal })),
    refetchInterval: 5_000,
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
