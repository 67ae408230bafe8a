import { clsx } from 'clsx';
import {
  Ban,
  Check,
  CircleDot,
  CornerUpLeft,
  Flag,
  HeartCrack,
  LoaderCircle,
  RotateCw,
  Skull,
  X,
  type LucideIcon,
} from 'lucide-react';
import { useState, type ReactNode } from 'react';
import type { Attempt, AttemptOutcome, Job } from '@/api/documents';
import { TEXT_TONES, type Tone } from '@/components/Badge';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { Countdown, Duration, RunningFor } from '@/components/Duration';
import { plural } from '@/components/numbers';
import { RelativeTime } from '@/components/RelativeTime';
import { durationText } from '@/components/time';
import { AttemptResult } from './AttemptResult';
import { steps, type Step } from './timeline';

/** A job may be tried for days; nobody reads all of it. */
const SHOWN = 16;

export function Timeline({ job }: { job: Job }) {
  const [all, setAll] = useState(false);
  const line = steps(job);
  const tries = (job.attempts ?? []).length;
  /** Attempts that the job does not carry: it has the latest. */
  const earlier = Math.max(0, (job.attempts_total ?? tries) - tries);
  const [first, ...others] = line;
  // What it waited for before an attempt that is not there.
  const rest = earlier > 0 && others[0]?.type === 'wait' ? others.slice(1) : others;
  const hidden = all ? 0 : Math.max(0, rest.length - SHOWN);
  return (
    <Card title="Timeline" note={tries === 0 ? 'no attempts yet' : plural(tries + earlier, 'attempt')}>
      <ol className="relative">
        {first !== undefined && <StepItem step={first} job={job} isEnd={rest.length === 0} />}
        {earlier > 0 && (
          <li className="py-1 pl-9 text-xs text-muted">
            {plural(earlier, 'earlier attempt')} not shown; read them from the API at{' '}
            <code className="font-mono break-all">/api/v1/jobs/{job.id}/attempts</code>
          </li>
        )}
        {hidden > 0 && (
          <li className="py-1 pl-9">
            <Button size="sm" onClick={() => setAll(true)}>
              Show {hidden} earlier steps
            </Button>
          </li>
        )}
        {rest.slice(hidden).map((step, at, shown) => (
          <StepItem key={hidden + at} step={step} job={job} isEnd={at === shown.length - 1} />
        ))}
      </ol>
    </Card>
  );
}

function StepItem({ step, job, isEnd }: { step: Step; job: Job; isEnd: boolean }) {
  if (step.type === 'created') {
    return (
      <Item icon={Flag} tone="grey" isEnd={isEnd}>
        <Line at={step.at}>
          <strong className="font-medium">Submitted</strong>
          {typeof job.schedule === 'string' && <span className="text-muted">by its schedule</span>}
        </Line>
      </Item>
    );
  }
  if (step.type === 'wait') {
    return (
      <li className="relative flex pb-2 pl-9 text-xs text-faint">
        <span
          aria-hidden
          className="absolute top-0 bottom-0 left-3 border-l border-dashed border-line-strong"
        />
        waited {durationText(step.ms)} {step.why === 'queue' ? 'in the queue' : 'before the next attempt'}
      </li>
    );
  }
  if (step.type === 'next') {
    return (
      <Item icon={CircleDot} tone="warn" isEnd={isEnd}>
        <Line at={step.at}>
          <strong className="font-medium">
            {job.attempt === 0 ? 'First attempt' : 'Next attempt'}{' '}
            {job.state === 'pending' ? (
              'as soon as a worker is free'
            ) : (
              <>
                in <Countdown to={step.at} over="a moment" />
              </>
            )}
          </strong>
        </Line>
      </Item>
    );
  }
  return <AttemptItem attempt={step.attempt} isEnd={isEnd} isOpen={step.isLast} />;
}

const OUTCOMES: Record<AttemptOutcome, { icon: LucideIcon; tone: Tone; words: string }> = {
  completed: { icon: Check, tone: 'good', words: 'completed' },
  failed: { icon: X, tone: 'orange', words: 'failed permanently' },
  retry: { icon: RotateCw, tone: 'warn', words: 'failed, will be retried' },
  interrupted: { icon: CornerUpLeft, tone: 'grey', words: 'interrupted by a shutdown; does not count' },
  released: { icon: CornerUpLeft, tone: 'grey', words: 'handed back before it started' },
  lapsed: { icon: HeartCrack, tone: 'bad', words: 'lost with its worker' },
  cancelled: { icon: Ban, tone: 'grey', words: 'cancelled' },
  dead: { icon: Skull, tone: 'bad', words: 'failed, no attempts left' },
};

function AttemptItem({ attempt, isEnd, isOpen }: { attempt: Attempt; isEnd: boolean; isOpen: boolean }) {
  const { outcome } = attempt;
  const look =
    outcome === null || outcome === undefined
      ? { icon: LoaderCircle, tone: 'accent' as const, words: 'running' }
      : OUTCOMES[outcome];
  const isRunning = outcome === null || outcome === undefined;
  return (
    <Item icon={look.icon} tone={look.tone} spin={isRunning} isEnd={isEnd}>
      <Line at={attempt.started_at ?? attempt.finished_at}>
        <strong className="font-medium">
          {attempt.number === 0 ? 'Ended without an attempt' : `Attempt ${attempt.number}`}
        </strong>
        <span className={TEXT_TONES[look.tone]}>{look.words}</span>
        <span className="text-muted">
          {isRunning && typeof attempt.started_at === 'string' ? (
            <>
              for <RunningFor since={attempt.started_at} />
            </>
          ) : (
            typeof attempt.duration_ms === 'number' && (
              <>
                after <Duration ms={attempt.duration_ms} />
              </>
            )
          )}
          {typeof attempt.worker === 'string' && (
            <>
              {' '}
              on <span className="text-ink">{attempt.worker}</span>
            </>
          )}
        </span>
      </Line>
      <AttemptResult attempt={attempt} isOpen={isOpen} />
    </Item>
  );
}

interface ItemProps {
  icon: LucideIcon;
  tone: Tone;
  spin?: boolean;
  isEnd: boolean;
  children: ReactNode;
}

function Item({ icon: Icon, tone, spin = false, isEnd, children }: ItemProps) {
  return (
    <li className={clsx('relative min-w-0 pl-9', !isEnd && 'pb-3')}>
      {!isEnd && <span aria-hidden className="absolute top-6 bottom-0 left-3 border-l border-line-strong" />}
      <span
        aria-hidden
        className={clsx(
          'absolute top-0 left-0 flex size-6 items-center justify-center rounded-full border border-line-strong bg-surface',
          TEXT_TONES[tone],
        )}
      >
        <Icon className={clsx('size-3.5', spin && 'animate-spin')} />
      </span>
      {children}
    </li>
  );
}

function Line({ at, children }: { at: string | null | undefined; children: ReactNode }) {
  return (
    <div className="flex min-h-6 flex-wrap items-center gap-x-2 text-sm">
      {children}
      <span className="ml-auto text-xs text-faint">
        <RelativeTime at={at} />
      </span>
    </div>
  );
}
