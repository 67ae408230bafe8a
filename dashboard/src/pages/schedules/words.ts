// Policies and outcomes, as one would say them.
import type { Schedule, Tick } from '@/api/documents';
import type { Tone } from '@/components/Badge';
import { plural } from '@/components/numbers';

type Missed = NonNullable<Schedule['missed']>;
type Overlap = NonNullable<Schedule['overlap']>;
type DstGap = NonNullable<Schedule['dst_gap']>;
type DstOverlap = NonNullable<Schedule['dst_overlap']>;

export interface Choice {
  /** For a list to choose from. */
  short: string;
  /** A whole sentence. */
  long: string;
}

export const MISSED: Record<Missed, Choice> = {
  latest: {
    short: 'fire the latest one',
    long: 'If fires were missed while no scheduler was running, only the latest one runs.',
  },
  skip: {
    short: 'fire none of them',
    long: 'If fires were missed while no scheduler was running, none of them run.',
  },
  all: {
    short: 'fire all of them',
    long: 'If fires were missed while no scheduler was running, all of them run.',
  },
};

export const OVERLAP: Record<Overlap, Choice> = {
  allow: {
    short: 'start another one in parallel',
    long: 'If the previous job is still running, another one starts in parallel.',
  },
  skip: { short: 'skip this fire', long: 'If the previous job is still running, the fire is skipped.' },
  queue: {
    short: 'wait for it, then start',
    long: 'If the previous job is still running, the fire waits until it is done. At most one fire waits.',
  },
  cancel: {
    short: 'cancel it and start a new one',
    long: 'If the previous job is still running, it is cancelled and a new one starts.',
  },
};

export const DST_GAP: Record<DstGap, Choice> = {
  next_valid: {
    short: 'fire when the gap ends',
    long: 'A time that does not exist because the clocks go forward fires when the gap ends.',
  },
  skip: { short: 'skip it', long: 'A time that does not exist because the clocks go forward is skipped.' },
};

export const DST_OVERLAP: Record<DstOverlap, Choice> = {
  first: {
    short: 'fire the first time',
    long: 'A time that occurs twice because the clocks go back fires once, the first time.',
  },
  both: {
    short: 'fire both times',
    long: 'A time that occurs twice because the clocks go back fires both times.',
  },
};

/** How it is going to behave, sentence by sentence, with the defaults spelt out. */
export function policies(schedule: Schedule): string[] {
  const missed = schedule.missed ?? 'latest';
  const isCron = schedule.cron !== null && schedule.cron !== undefined;
  return [
    missed === 'all'
      ? `${MISSED.all.long} At most ${schedule.missed_max ?? 100} at once.`
      : MISSED[missed].long,
    OVERLAP[schedule.overlap ?? 'allow'].long,
    ...(isCron
      ? [DST_GAP[schedule.dst_gap ?? 'next_valid'].long, DST_OVERLAP[schedule.dst_overlap ?? 'first'].long]
      : []),
    ...(typeof schedule.jitter === 'string'
      ? [
          `Each job starts up to ${schedule.jitter} after its time. The delay is always the same for the same fire.`,
        ]
      : []),
  ];
}

interface TickLook {
  tone: Tone;
  said: string;
}

export function tickLook(tick: Pick<Tick, 'state' | 'reason' | 'count'>): TickLook {
  switch (tick.state) {
    case 'fired':
      return { tone: 'good', said: firedWords(tick) };
    case 'held':
      return { tone: 'warn', said: 'Waiting until the previous job is done' };
    case 'skipped':
      return { tone: 'grey', said: skippedWords(tick) };
  }
}

function firedWords({ reason }: Pick<Tick, 'reason'>): string {
  if (reason === 'by_hand') return 'Run manually';
  if (reason === 'missed') return 'Late: its time had been missed';
  if (reason === 'overlap') return 'Late: waited for the previous job';
  return 'On time';
}

function skippedWords({ reason, count }: Pick<Tick, 'reason' | 'count'>): string {
  const several =
    count === null || count === undefined ? 'Many fires' : count > 1 ? plural(count, 'fire') : null;
  if (reason === 'missed')
    return several === null ? 'No scheduler was running' : `${several} missed while no scheduler was running`;
  if (reason === 'overlap') return 'The previous job was still running';
  if (reason === 'deleted') return 'The schedule was deleted while this fire waited';
  if (reason === 'too_many_waiting')
    return 'The tenant had reached its limit of waiting jobs, or of queues with waiting jobs';
  return 'Skipped';
}

const ONCE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** When it fires, without what only a machine reads: the server spells instants out to the microsecond. */
export function inWords({ description, every, at }: Pick<Schedule, 'description' | 'every' | 'at'>): string {
  if (typeof at === 'string') return `Once, on ${ONCE.format(new Date(at))}`;
  if (typeof every === 'string') return `Every ${every}`;
  return description;
}

/** What was written, as code. */
export function written({ cron, every, at }: Pick<Schedule, 'cron' | 'every' | 'at'>): string {
  if (typeof cron === 'string') return cron;
  if (typeof every === 'string') return every;
  return (at ?? '').replace(/\.0+Z$/, 'Z');
}
