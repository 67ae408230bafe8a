import { Link } from '@tanstack/react-router';
import { clsx } from 'clsx';
import { STATES, type Overview } from '@/api/documents';
import { Count } from '@/components/Count';
import { Skeleton } from '@/components/Skeleton';
import { STATE_LOOKS } from '@/components/StateBadge';
import { TEXT_TONES } from '@/components/Badge';

/** Every state with how many are in it; each leads to them. */
export function StateTiles({ states }: { states: Overview['states'] | undefined }) {
  return (
    <nav
      aria-label="Jobs by state"
      className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line shadow-low sm:grid-cols-4 lg:grid-cols-8"
    >
      {STATES.map((state) => {
        const { icon: Icon, tone, meaning } = STATE_LOOKS[state];
        const counted = states?.[state];
        const isQuiet = counted !== undefined && counted.count === 0;
        return (
          <Link
            key={state}
            to="/jobs"
            search={{ state }}
            title={meaning}
            className="group bg-surface px-3 py-2.5 transition-colors hover:bg-hover focus-visible:-outline-offset-2"
          >
            <span className="flex items-center gap-1.5 text-xs text-muted group-hover:text-ink">
              <Icon aria-hidden className={clsx('size-3.5', TEXT_TONES[tone])} />
              {state}
            </span>
            <span className={clsx('mt-0.5 block text-lg font-semibold', isQuiet && 'text-faint')}>
              {counted === undefined ? <Skeleton className="my-1 h-4 w-10" /> : <Count {...counted} />}
            </span>
          </Link>
        );
      })}
    </nav>
  );
}
