// The server's documents by their short names.
import type { components, paths } from './schema';

type Schemas = components['schemas'];

export type State = Schemas['State'];
export type Lane = Schemas['Lane'];
export type Scope = Schemas['Scope'];
export type Job = Schemas['JobDocument'];
export type JobSpec = Schemas['JobSpec'];
export type Attempt = Schemas['AttemptDocument'];
export type AttemptOutcome = Schemas['AttemptOutcome'];
export type JobFilter = Schemas['FilterDocument'];
export type BulkAnswer = Schemas['BulkAnswer'];
export type OutputLine = Schemas['OutputLine'];
export type Queue = Schemas['QueueDocument'];
export type Worker = Schemas['WorkerDocument'];
export type Schedule = Schemas['ScheduleDocument'];
export type ScheduleSpec = Schemas['ScheduleSpec'];
export type ScheduleFields = Schemas['ScheduleFields'];
export type Tick = Schemas['TickDocument'];
export type Preview = Schemas['PreviewDocument'];
export type Webhook = Schemas['WebhookDocument'];
export type WebhookSpec = Schemas['WebhookSpec'];
export type WebhookPatch = Schemas['WebhookPatch'];
export type Delivery = Schemas['DeliveryDocument'];
export type Tenant = Schemas['TenantDocument'];
export type Key = Schemas['KeyDocument'];
export type NewKey = Schemas['NewKeyDocument'];
export type MadeKey = Schemas['MadeKeyDocument'];
export type Whoami = Schemas['WhoamiDocument'];

export type Overview = Schemas['OverviewDocument'];
export type Attention = Schemas['AttentionDocument'];
export type AttentionKind = Schemas['AttentionKind'];
export type Counted = Schemas['CountDocument'];
export type Statistics = Schemas['StatisticsDocument'];
export type Bucket = Schemas['BucketDocument'];
export type Figures = Schemas['TallyDocument'];
export type QueueFigures = Schemas['QueueStatisticsDocument'];
export type Spread = Schemas['SpreadDocument'];
export type Step = Schemas['Slot'];
export type FailureGroup = Schemas['FailureGroupDocument'];
/** The final states that somebody may have to do something about. */
export type FailureState = 'failed' | 'dead';
export type WorkerJob = Schemas['HeldDocument'];

export interface Page<T> {
  items: T[];
  next?: string | null;
}

export type JobQuery = NonNullable<paths['/api/v1/jobs']['get']['parameters']['query']>;

export const STATES = [
  'scheduled',
  'pending',
  'running',
  'retrying',
  'completed',
  'failed',
  'dead',
  'cancelled',
] as const satisfies readonly State[];

export const FINAL_STATES: readonly State[] = ['completed', 'failed', 'dead', 'cancelled'];

export function isFinal(state: State): boolean {
  return FINAL_STATES.includes(state);
}

export function isState(text: string | undefined): text is State {
  return STATES.some((state) => state === text);
}
