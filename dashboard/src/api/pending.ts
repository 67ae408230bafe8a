// What the server answers and its OpenAPI document does not describe yet. To be deleted once it does.
import type { components } from './schema';

type State = components['schemas']['State'];
type Problem = components['schemas']['ProblemDocument'];

export interface Counted {
  count: number;
  /** "At least so many." */
  estimate: boolean;
}

export type AttentionKind =
  'dead-jobs' | 'paused-queue' | 'lapsed-worker' | 'late-schedules' | 'disabled-webhook';

export interface AttentionDocument extends Counted {
  kind: AttentionKind;
  subject: string | null;
  detail: string;
  since: string | null;
}

export interface OverviewDocument {
  at: string;
  states: Record<State, Counted>;
  queues: number;
  oldest_waiting: { queue: string; age: string } | null;
  workers: { live: number; draining: number; dead: number; slots: number; running: number } | null;
  attention: AttentionDocument[];
}

export interface SpreadDocument {
  count: number;
  mean_ms: number;
  p50_ms: number;
  p95_ms: number;
  max_ms: number;
}

export interface Figures {
  submitted: number;
  started: number;
  completed: number;
  failed: number;
  dead: number;
  cancelled: number;
  retried: number;
  wait: SpreadDocument | null;
  run: SpreadDocument | null;
}

export interface BucketDocument extends Figures {
  at: string;
  waiting: number | null;
  running: number | null;
}

export type Step = 'minute' | 'hour';

export interface StatisticsDocument {
  step: Step;
  from: string;
  to: string;
  items: BucketDocument[];
}

export interface QueueFigures extends Figures {
  queue: string;
}

export interface DeadGroupDocument extends Counted {
  /** 16 hex digits; the value of the filter `error_group`. */
  group: string;
  error: string;
  first_at: string;
  last_at: string;
  kind: string | null;
  queue: string;
  /** One of them. */
  job: string;
}

export interface WorkerJobDocument {
  id: string;
  tenant: string;
  queue: string;
  kind: string | null;
  attempt: number;
  started_at: string;
}

interface Answer<T> {
  headers: { [name: string]: unknown };
  content: { 'application/json': T };
}
interface Refusal {
  headers: { [name: string]: unknown };
  content: { 'application/problem+json': Problem };
}
interface Nothing {
  headers: { [name: string]: unknown };
  content?: never;
}
interface Operation<Given, Ok> {
  parameters: Given;
  requestBody?: never;
  responses: { 200: Answer<Ok>; default: Refusal };
}
interface Parameters<Query = never, Path = never> {
  query?: Query;
  header?: { 'Foreman-Tenant'?: string };
  path?: Path;
  cookie?: never;
}
interface Read<Ok, Query = never, Path = never> {
  parameters: { query?: never; header?: never; path?: never; cookie?: never };
  get: Operation<Parameters<Query, Path>, Ok>;
  put?: never;
  post?: never;
  delete?: never;
  options?: never;
  head?: never;
  patch?: never;
  trace?: never;
}
interface Span {
  step?: Step;
  from?: string;
  to?: string;
}

export interface PendingPaths {
  '/api/v1/overview': Read<OverviewDocument>;
  '/api/v1/statistics': Read<StatisticsDocument, Span & { queue?: string }>;
  '/api/v1/statistics/queues': Read<{ items: QueueFigures[] }, Span>;
  '/api/v1/dead/groups': Read<{ items: DeadGroupDocument[]; next: string | null }>;
  '/api/v1/workers/{worker}/jobs': {
    parameters: { query?: never; header?: never; path: { worker: string }; cookie?: never };
    get: {
      parameters: {
        query?: never;
        header?: { 'Foreman-Tenant'?: string };
        path: { worker: string };
        cookie?: never;
      };
      requestBody?: never;
      responses: { 200: Answer<{ items: WorkerJobDocument[]; next: string | null }>; default: Refusal };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/session': {
    parameters: { query?: never; header?: never; path?: never; cookie?: never };
    get?: never;
    put?: never;
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: { content: { 'application/json': { key: string } } };
      responses: { 200: Answer<components['schemas']['WhoamiDocument']>; default: Refusal };
    };
    delete: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: { 204: Nothing; default: Refusal };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}

/** Fields that existing documents are about to have. */
export interface PendingJobFields {
  /** Counts the job's moves from 1. */
  sequence?: number;
}
export interface PendingFilterFields {
  error_group?: string | null;
}
