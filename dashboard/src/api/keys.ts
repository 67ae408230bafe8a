// Where each answer lies in the cache. The live feed patches and invalidates by these same names.
import type { JobFilter } from './documents';

export interface JobList {
  filter: JobFilter;
  cursor?: string | undefined;
}

export const keys = {
  whoami: ['whoami'] as const,
  overview: ['overview'] as const,
  statistics: {
    all: ['statistics'] as const,
    series: (step: string, queue: string | undefined) =>
      ['statistics', 'series', step, queue ?? null] as const,
    queues: (step: string) => ['statistics', 'queues', step] as const,
  },
  jobs: {
    all: ['jobs'] as const,
    lists: ['jobs', 'list'] as const,
    list: (list: JobList) => ['jobs', 'list', list] as const,
    one: (id: string) => ['jobs', 'one', id] as const,
  },
  failures: {
    all: ['failures'] as const,
    groups: (state: string | undefined) => ['failures', 'groups', state ?? null] as const,
  },
  queues: ['queues'] as const,
  workers: {
    all: ['workers'] as const,
    list: ['workers', 'list'] as const,
    jobs: (worker: string) => ['workers', 'jobs', worker] as const,
  },
  schedules: {
    all: ['schedules'] as const,
    lists: ['schedules', 'list'] as const,
    list: (cursor: string | undefined) => ['schedules', 'list', cursor ?? null] as const,
    one: (schedule: string) => ['schedules', 'one', schedule] as const,
    ticks: (schedule: string, cursor: string | undefined) =>
      ['schedules', 'ticks', schedule, cursor ?? null] as const,
    preview: (of: unknown) => ['schedules', 'preview', of] as const,
  },
  /** What a schedule will do: apart from the others, for a tick changes nothing about it. */
  fires: (schedule: string, version: number, n: number) => ['fires', schedule, version, n] as const,
  webhooks: {
    all: ['webhooks'] as const,
    list: (cursor: string | undefined) => ['webhooks', 'list', cursor ?? null] as const,
    one: (webhook: string) => ['webhooks', 'one', webhook] as const,
    deliveries: (webhook: string, cursor: string | undefined) =>
      ['webhooks', 'deliveries', webhook, cursor ?? null] as const,
  },
  tenants: {
    all: ['tenants'] as const,
    list: ['tenants', 'list'] as const,
    keys: (tenant: string, cursor: string | undefined) =>
      ['tenants', 'keys', tenant, cursor ?? null] as const,
  },
};
