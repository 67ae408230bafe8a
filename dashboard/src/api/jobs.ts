// Jobs: lists, one, its output, and what can be done to one or to all that match.
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { heard } from '@/live/heard';
import { answer, client } from './client';
import type { Job, JobFilter, JobSpec, Page } from './documents';
import { keys, type JobList } from './keys';

export const PAGE = 50;
export const MAX_PAGE = 500;

export async function fetchJobs(list: JobList, limit: number, signal?: AbortSignal): Promise<Page<Job>> {
  const query = { ...withoutNulls(list.filter), limit, ...(list.cursor ? { cursor: list.cursor } : {}) };
  const page = await answer(client.GET('/api/v1/jobs', { params: { query }, signal: signal ?? null }));
  // What the stream told while the answer was on its way is newer than the answer.
  return { ...page, items: page.items.map((job) => heard.reconcile(job as Job)) };
}

export function jobQuery(id: string) {
  return queryOptions({
    queryKey: keys.jobs.one(id),
    queryFn: async ({ signal }): Promise<Job> => {
      const job = await answer(client.GET('/api/v1/jobs/{id}', { params: { path: { id } }, signal }));
      return heard.reconcile(job as Job);
    },
  });
}

export function useJob(id: string) {
  return useQuery(jobQuery(id));
}

export type JobVerb = 'retry' | 'cancel' | 'delete';

export function changeJob(verb: JobVerb, id: string): Promise<unknown> {
  const params = { path: { id } };
  switch (verb) {
    case 'retry':
      return answer(client.POST('/api/v1/jobs/{id}/retry', { params }));
    case 'cancel':
      return answer(client.POST('/api/v1/jobs/{id}/cancel', { params }));
    case 'delete':
      return answer(client.DELETE('/api/v1/jobs/{id}', { params }));
  }
}

export function useChangeJob() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, id }: { verb: JobVerb; id: string }) => changeJob(verb, id),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.jobs.all }),
  });
}

/** Everything that matches the filter; with `dry_run`, only how many that are. */
export function changeMatching(verb: JobVerb, filter: JobFilter, dry_run: boolean) {
  return answer(client.POST(`/api/v1/jobs/${verb}`, { body: { filter: withoutNulls(filter), dry_run } }));
}

export function useSubmitJob() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (spec: JobSpec) => answer(client.POST('/api/v1/jobs', { body: spec, params: {} })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.jobs.lists }),
  });
}

export function fetchOutput(id: string, after: number, signal?: AbortSignal) {
  return answer(
    client.GET('/api/v1/jobs/{id}/output', {
      params: { path: { id }, query: { after } },
      signal: signal ?? null,
    }),
  );
}

export function withoutNulls<T extends object>(fields: T): { [K in keyof T]: NonNullable<T[K]> } {
  const kept = Object.entries(fields).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  return Object.fromEntries(kept) as { [K in keyof T]: NonNullable<T[K]> };
}
