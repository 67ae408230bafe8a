import { clsx } from 'clsx';
import { ChevronRight, RotateCw, Trash2 } from 'lucide-react';
import { useId, useState } from 'react';
import type { FailureGroup } from '@/api/documents';
import type { JobVerb } from '@/api/jobs';
import { Button } from '@/components/Button';
import { Count } from '@/components/Count';
import { RelativeTime } from '@/components/RelativeTime';
import { StateBadge } from '@/components/StateBadge';
import { GroupJobs } from './GroupJobs';

interface FailureGroupRowProps {
  group: FailureGroup;
  /** Missing where nothing can be done. */
  onDo: ((verb: JobVerb) => void) | undefined;
}

/** Ten thousand equal failures are one line. */
export function FailureGroupRow({ group, onDo }: FailureGroupRowProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  // A server of the version before has dead ones only.
  const state = group.state ?? 'dead';
  return (
    <li>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5 transition-colors hover:bg-hover">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
          className="flex min-w-0 flex-1 basis-64 items-start gap-3 text-left"
        >
          <ChevronRight
            aria-hidden
            className={clsx('mt-1 size-4 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
          />
          <span className="mt-0.5 min-w-10 shrink-0 rounded-full bg-bad-soft px-2 text-center text-sm font-semibold text-bad">
            <Count count={group.count} estimate={group.estimate} />
          </span>
          <span className="min-w-0 flex-1">
            <span className={clsx('block text-sm font-medium break-words', !isOpen && 'line-clamp-2')}>
              {group.error || 'No error was recorded'}
            </span>
            <span className="mt-0.5 flex flex-wrap items-center gap-x-2 text-xs text-muted">
              <StateBadge state={state} />
              {typeof group.kind === 'string' && <span>{group.kind}</span>}
              <span>queue {group.queue}</span>
              <span>
                last <RelativeTime at={group.last_at} />
              </span>
              <span>
                first <RelativeTime at={group.first_at} />
              </span>
            </span>
          </span>
        </button>
        {onDo !== undefined && (
          <div className="flex gap-2 max-sm:pl-7">
            <Button size="sm" icon={RotateCw} onClick={() => onDo('retry')}>
              Retry all
            </Button>
            <Button size="sm" variant="ghost" icon={Trash2} onClick={() => onDo('delete')}>
              Delete all
            </Button>
          </div>
        )}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <GroupJobs state={state} group={group.group ?? null} />}
      </div>
    </li>
  );
}
