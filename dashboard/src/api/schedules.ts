// Schedules: lists, one with its tag, its ticks, previews, and what can be done to one.
import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answer, answerWithTag, client } from './client';
import type { Schedule, ScheduleFields, ScheduleSpec } from './documents';
import { keys } from './keys';

export function useSchedules(cursor?: string) {
  return useQuery({
    queryKey: keys.schedules.list(cursor),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/schedules', {
          params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** With the `ETag` that an edit has to show, so that two people do not write over each other. */
export function useSchedule(schedule: string) {
  return useQuery({
    queryKey: keys.schedules.one(schedule),
    queryFn: ({ signal }) =>
      answerWithTag(client.GET('/api/v1/schedules/{schedule}', { params: { path: { schedule } }, signal })),
  });
}

export function useTicks(schedule: string, cursor?: string) {
  return useQuery({
    queryKey: keys.schedules.ticks(schedule, cursor),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/schedules/{schedule}/ticks', {
          params: { path: { schedule }, query: { limit: 50, ...(cursor ? { cursor } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** The next fires of a schedule that is being written. */
export function usePreview(fields: ScheduleFields, n: number, enabled: boolean) {
  return useQuery({
    queryKey: keys.schedules.preview([fields, n]),
    queryFn: ({ signal }) =>
      answer(client.POST('/api/v1/schedules/preview', { params: { query: { n } }, body: fields, signal })),
    enabled,
    retry: false,
    placeholderData: keepPreviousData,
  });
}

/** The next fires of one that exists. They change with its version and with the time, not with its ticks. */
export function firesQuery({ id, version }: Pick<Schedule, 'id' | 'version'>, n: number) {
  return queryOptions({
    queryKey: keys.fires(id, version, n),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/schedules/{schedule}/preview', {
          params: { path: { schedule: id }, query: { n } },
          signal,
        }),
      ),
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
}

export function useCreateSchedule() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (spec: ScheduleSpec) => answer(client.POST('/api/v1/schedules', { body: spec })),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.schedules.all }),
  });
}

export function useReplaceSchedule(schedule: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ spec, etag }: { spec: ScheduleSpec; etag: string | null }) =>
      answer(
        client.PUT('/api/v1/schedules/{schedule}', {
          params: { path: { schedule }, ...(etag === null ? {} : { header: { 'If-Match': etag } }) },
          body: spec,
        }),
      ),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.schedules.all }),
  });
}

export type ScheduleVerb = 'pause' | 'resume' | 'run' | 'delete';

export function useChangeSchedule() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, schedule }: { verb: ScheduleVerb; schedule: string }): Promise<unknown> => {
      const params = { path: { schedule } };
      switch (verb) {
        case 'pause':
          return answer(client.POST('/api/v1/schedules/{schedule}/pause', { params }));
        case 'resume':
          return answer(client.POST('/api/v1/schedules/{schedule}/resume', { params }));
        case 'run':
          return answer(client.POST('/api/v1/schedules/{schedule}/run', { params }));
        case 'delete':
          return answer(client.DELETE('/api/v1/schedules/{schedule}', { params }));
      }
    },
    onSettled: () => cache.invalidateQueries({ queryKey: keys.schedules.all }),
  });
}
