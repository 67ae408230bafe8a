// A schedule while it is written.
import type { Schedule, ScheduleFields, ScheduleSpec } from '@/api/documents';
import { draftOf, EMPTY, type JobDraft } from '@/pages/submit/draft';
import { MASK } from '@/pages/submit/masked';
import { instantOf, isAimed, writtenOf, type Mistakes } from '@/pages/submit/spec';

export type Mode = 'cron' | 'every' | 'at';

export interface ScheduleDraft {
  name: string;
  mode: Mode;
  cron: string;
  every: string;
  /** As the browser's own field has it, like the two below. */
  at: string;
  timezone: string;
  startAt: string;
  endAt: string;
  jitter: string;
  missed: NonNullable<Schedule['missed']> | '';
  missedMax: string;
  overlap: NonNullable<Schedule['overlap']> | '';
  dstGap: NonNullable<Schedule['dst_gap']> | '';
  dstOverlap: NonNullable<Schedule['dst_overlap']> | '';
  paused: boolean;
  job: JobDraft;
}

export function newDraft(timezone: string): ScheduleDraft {
  return {
    name: '',
    mode: 'cron',
    cron: '',
    every: '',
    at: '',
    timezone: timezone === 'UTC' ? '' : timezone,
    startAt: '',
    endAt: '',
    jitter: '',
    missed: '',
    missedMax: '',
    overlap: '',
    dstGap: '',
    dstOverlap: '',
    paused: false,
    job: EMPTY,
  };
}

export function draftOfSchedule(schedule: Schedule): ScheduleDraft {
  return {
    name: schedule.name,
    mode: typeof schedule.every === 'string' ? 'every' : typeof schedule.at === 'string' ? 'at' : 'cron',
    cron: schedule.cron ?? '',
    every: schedule.every ?? '',
    at: localOf(schedule.at),
    timezone: schedule.timezone ?? '',
    startAt: localOf(schedule.start_at),
    endAt: localOf(schedule.end_at),
    jitter: schedule.jitter ?? '',
    missed: schedule.missed ?? '',
    missedMax:
      schedule.missed_max === null || schedule.missed_max === undefined ? '' : String(schedule.missed_max),
    overlap: schedule.overlap ?? '',
    dstGap: schedule.dst_gap ?? '',
    dstOverlap: schedule.dst_overlap ?? '',
    paused: schedule.state === 'paused',
    job: draftOf(schedule.job),
  };
}

/** What says when. Empty as long as nothing does. */
export function timesOf(draft: ScheduleDraft): ScheduleFields {
  const fields: ScheduleFields = {};
  const put = <Name extends keyof ScheduleFields>(name: Name, value: ScheduleFields[Name] | '') => {
    if (value !== '' && value !== undefined) fields[name] = value as ScheduleFields[Name];
  };
  if (draft.mode === 'cron') {
    put('cron', draft.cron.trim());
    put('timezone', draft.timezone.trim());
    put('dst_gap', draft.dstGap);
    put('dst_overlap', draft.dstOverlap);
  }
  if (draft.mode === 'every') put('every', draft.every.trim());
  if (draft.mode === 'at') put('at', instantOf(draft.at));
  put('start_at', instantOf(draft.startAt));
  put('end_at', instantOf(draft.endAt));
  put('jitter', draft.jitter.trim());
  put('missed', draft.missed);
  if (draft.missed === 'all' && draft.missedMax.trim() !== '') put('missed_max', Number(draft.missedMax));
  put('overlap', draft.overlap);
  return fields;
}

export function saysWhen(draft: ScheduleDraft): boolean {
  return draft[draft.mode].trim() !== '';
}

/** What can be judged already: what is not written yet is no mistake, and hidden values are not shown to anybody. */
export function previewOf(draft: ScheduleDraft): ScheduleFields {
  const job = writtenOf(draft.job);
  const hides = [...draft.job.headers, ...draft.job.env].some(({ value }) => value === MASK);
  const isWhole = isAimed(job) && Object.keys(job.mistakes).length === 0 && !hides;
  return {
    ...timesOf(draft),
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    ...(isWhole ? { job: job.spec } : {}),
  };
}

export function scheduleOf(draft: ScheduleDraft): { spec: ScheduleSpec; mistakes: Mistakes } {
  const job = writtenOf(draft.job);
  return {
    spec: {
      ...timesOf(draft),
      name: draft.name.trim(),
      ...(draft.paused ? { paused: true } : {}),
      job: job.spec,
    },
    mistakes: Object.fromEntries(
      Object.entries(job.mistakes).map(([pointer, detail]) => [`/job${pointer}`, detail]),
    ),
  };
}

/** An instant as the browser's field wants it: the reader's own clock, without a zone. */
function localOf(at: string | null | undefined): string {
  if (at === null || at === undefined) return '';
  const date = new Date(at);
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}
