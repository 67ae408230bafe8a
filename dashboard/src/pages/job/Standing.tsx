import { CircleX, Hourglass, RotateCw, Skull, Unplug, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Job } from '@/api/documents';
import type { Tone } from '@/components/Badge';
import { Countdown } from '@/components/Duration';
import { plural } from '@/components/numbers';
import { absoluteText } from '@/components/time';

/** Where it stands, in a sentence: what it waits for, or why it is over; and what keeps it from running. */
export function Standing({ job }: { job: Job }) {
  return (
    <>
      {(job.hints ?? []).map(({ kind, detail }) => (
        <Note key={kind} tone="warn" icon={Unplug}>
          <p className="font-semibold">{detail}</p>
        </Note>
      ))}
      <State job={job} />
    </>
  );
}

function State({ job }: { job: Job }) {
  if (job.state === 'retrying' || (job.state === 'pending' && job.attempt > 0)) {
    return (
      <Note tone="warn" icon={RotateCw}>
        <p className="font-semibold">
          {job.state === 'retrying' ? (
            <>
              Next attempt in <Countdown to={job.run_at} over="a moment" />
            </>
          ) : (
            'Next attempt as soon as a worker is free'
          )}
          <span className="ml-2 font-normal opacity-90" title={absoluteText(job.run_at)}>
            attempt {job.spent + 1} of {job.max_attempts}
          </span>
        </p>
        <Why job={job} />
      </Note>
    );
  }
  if (job.state === 'scheduled') {
    return (
      <Note tone="violet" icon={Hourglass}>
        <p className="font-semibold">
          Runs in <Countdown to={job.run_at} over="a moment" />
        </p>
        <p className="text-sm">{absoluteText(job.run_at)}</p>
      </Note>
    );
  }
  if (job.state === 'dead') {
    return (
      <Note tone="bad" icon={Skull}>
        <p className="font-semibold">
          Dead after {plural(job.spent, 'attempt')}
          {job.crashes > 0 && `; ${plural(job.crashes, 'worker')} died while running it`}
        </p>
        <Why job={job} />
      </Note>
    );
  }
  if (job.state === 'failed') {
    return (
      <Note tone="orange" icon={CircleX}>
        <p className="font-semibold">Failed; trying again would not help</p>
        <Why job={job} />
      </Note>
    );
  }
  return null;
}

function Why({ job }: { job: Job }) {
  if (typeof job.error !== 'string' || job.error === '') return null;
  return <p className="text-sm break-words whitespace-pre-wrap">{job.error}</p>;
}

const TONES: Partial<Record<Tone, string>> = {
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  violet: 'bg-violet-soft text-violet',
  orange: 'bg-orange-soft text-orange',
};

function Note({ tone, icon: Icon, children }: { tone: Tone; icon: LucideIcon; children: ReactNode }) {
  return (
    <div className={`flex gap-3 rounded-lg px-4 py-3 ${TONES[tone] ?? ''}`}>
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
      <div className="min-w-0">{children}</div>
    </div>
  );
}
