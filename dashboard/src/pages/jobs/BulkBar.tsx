import { Ban, RotateCw, Trash2, X } from 'lucide-react';
import { isFinal, type Job, type JobFilter } from '@/api/documents';
import type { JobVerb } from '@/api/jobs';
import { Button } from '@/components/Button';
import { plural } from '@/components/numbers';
import type { Selection } from './useSelection';

interface BulkBarProps {
  selection: Selection;
  rows: Job[];
  filter: JobFilter;
  onDo: (verb: JobVerb) => void;
}

/** What can be done to what is selected. */
export function BulkBar({ selection, rows, filter, onDo }: BulkBarProps) {
  const chosen = rows.filter((job) => selection.has(job.id));
  // With everything that matches, only the filter knows the states.
  const state = filter.state ?? undefined;
  const someFinal = selection.isAllMatching
    ? state === undefined || isFinal(state)
    : chosen.some((job) => isFinal(job.state));
  const someOpen = selection.isAllMatching
    ? state === undefined || !isFinal(state)
    : chosen.some((job) => !isFinal(job.state));
  return (
    <div
      role="toolbar"
      aria-label="Selection"
      className="sticky top-13 z-10 flex animate-enter flex-wrap items-center gap-2 rounded-t-lg border-b bg-accent-soft px-3 py-2 md:top-0"
    >
      <p aria-live="polite" className="text-sm font-medium text-accent">
        {selection.isAllMatching
          ? 'All matching jobs are selected'
          : `${plural(selection.count, 'job')} selected`}
      </p>
      {!selection.isAllMatching && (
        <Button
          variant="ghost"
          size="sm"
          className="text-accent underline"
          onClick={selection.selectAllMatching}
        >
          Select all matching
        </Button>
      )}
      <div className="ml-auto flex flex-wrap gap-2">
        <Button size="sm" icon={RotateCw} disabled={!someFinal} onClick={() => onDo('retry')}>
          Retry
        </Button>
        <Button size="sm" icon={Ban} disabled={!someOpen} onClick={() => onDo('cancel')}>
          Cancel
        </Button>
        <Button size="sm" icon={Trash2} disabled={!someFinal} onClick={() => onDo('delete')}>
          Delete
        </Button>
        <Button
          size="sm"
          variant="ghost"
          icon={X}
          aria-label="Clear the selection"
          onClick={selection.clear}
        />
      </div>
    </div>
  );
}
