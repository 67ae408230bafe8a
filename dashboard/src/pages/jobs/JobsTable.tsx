import { Link } from '@tanstack/react-router';
import { clsx } from 'clsx';
import { useEffect, useRef } from 'react';
import type { Job } from '@/api/documents';
import { isWriting } from '@/app/useShortcuts';
import { Countdown, Duration, RunningFor } from '@/components/Duration';
import { shortId, targetText } from '@/components/jobText';
import { RelativeTime } from '@/components/RelativeTime';
import { StateBadge } from '@/components/StateBadge';
import { Table, Td, Th } from '@/components/Table';
import type { Selection } from './useSelection';

interface JobsTableProps {
  rows: Job[];
  /** `null` where nothing can be done to them. */
  selection: Selection | null;
  label?: string;
  /** Whether `j`, `k` and `x` go through this one; only one table of a page can have them. */
  hasKeys?: boolean;
}

export function JobsTable({ rows, selection, label = 'Jobs', hasKeys = true }: JobsTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const order = rows.map((job) => job.id);
  useRowKeys(body, hasKeys, (id) => selection?.toggle(id, order, false));
  const selected = order.filter((id) => selection?.has(id) === true).length;
  return (
    <Table label={label}>
      <thead>
        <tr>
          {selection !== null && (
            <Th className="w-10 pr-0">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                className="size-4 align-middle accent-accent"
                checked={selected === rows.length}
                ref={(box) => {
                  if (box !== null) box.indeterminate = selected > 0 && selected < rows.length;
                }}
                onChange={() => selection.set(selected === rows.length ? [] : order)}
              />
            </Th>
          )}
          <Th>Job</Th>
          <Th>State</Th>
          <Th className="hidden md:table-cell">Queue</Th>
          <Th className="hidden text-right lg:table-cell">Attempt</Th>
          <Th className="hidden sm:table-cell">Created</Th>
          <Th className="hidden text-right md:table-cell">Took</Th>
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((job) => (
          <JobRow key={job.id} job={job} selection={selection} order={order} />
        ))}
      </tbody>
    </Table>
  );
}

interface JobRowProps {
  job: Job;
  selection: Selection | null;
  order: string[];
}

function JobRow({ job, selection, order }: JobRowProps) {
  const isSelected = selection?.has(job.id) === true;
  const target = targetText(job);
  return (
    <tr
      data-job={job.id}
      aria-selected={selection === null ? undefined : isSelected}
      className={clsx(
        'transition-colors focus-within:bg-hover hover:bg-hover',
        isSelected && 'bg-accent-soft hover:bg-accent-soft',
      )}
    >
      {selection !== null && (
        <Td className="pr-0">
          <input
            type="checkbox"
            aria-label={`Select job ${shortId(job.id)}`}
            className="size-4 align-middle accent-accent"
            checked={isSelected}
            onClick={(event) => selection.toggle(job.id, order, event.shiftKey)}
            onChange={() => undefined}
          />
        </Td>
      )}
      <Td className="w-full max-w-0">
        <Link to="/jobs/$id" params={{ id: job.id }} data-row="" className="group block min-w-0">
          <span className="flex min-w-0 items-baseline gap-2">
            <span className="truncate font-medium group-hover:text-accent">{job.kind ?? target}</span>
            <span className="shrink-0 font-mono text-xs text-faint max-sm:hidden" title={job.id}>
              {shortId(job.id)}
            </span>
          </span>
          <span className="block truncate text-xs text-muted sm:hidden">
            <RelativeTime at={job.created_at} /> · {job.queue} ·{' '}
            <span className="font-mono">{shortId(job.id)}</span>
          </span>
          {hasError(job) ? (
            <span className="block truncate text-xs text-bad">{job.error}</span>
          ) : (
            <span className="block truncate text-xs text-muted max-sm:hidden">
              {job.kind === null || job.kind === undefined ? job.id : target}
            </span>
          )}
        </Link>
      </Td>
      <Td>
        <StateBadge state={job.state} />
      </Td>
      <Td className="hidden max-w-40 truncate md:table-cell">{job.queue}</Td>
      <Td className="hidden text-right text-muted lg:table-cell">
        {job.attempt === 0 ? '–' : `${job.spent} of ${job.max_attempts}`}
      </Td>
      <Td className="hidden text-muted sm:table-cell">
        <RelativeTime at={job.created_at} />
      </Td>
      <Td className="hidden text-right text-muted md:table-cell">
        <Took job={job} />
      </Td>
    </tr>
  );
}

function hasError(job: Job): boolean {
  return typeof job.error === 'string' && job.error !== '' && job.state !== 'completed';
}

/** How long it ran, runs so far, or waits still. */
function Took({ job }: { job: Job }) {
  if (job.state === 'running' && typeof job.started_at === 'string')
    return <RunningFor since={job.started_at} />;
  if (job.state === 'retrying' || job.state === 'scheduled') {
    return (
      <span title="until it runs" className="whitespace-nowrap">
        in <Countdown to={job.run_at} over="a moment" />
      </span>
    );
  }
  if (typeof job.started_at !== 'string' || typeof job.finished_at !== 'string')
    return <Duration ms={null} />;
  return <Duration ms={Math.max(0, Date.parse(job.finished_at) - Date.parse(job.started_at))} />;
}

/** `j` and `k` go through the rows, `x` selects; Enter follows the link that has the focus. */
function useRowKeys(
  body: React.RefObject<HTMLTableSectionElement | null>,
  isOn: boolean,
  onSelect: (id: string) => void,
): void {
  const select = useRef(onSelect);
  useEffect(() => {
    select.current = onSelect;
  });
  useEffect(() => {
    if (!isOn) return undefined;
    const pressed = (event: KeyboardEvent) => {
      const isBox = event.target instanceof HTMLInputElement && event.target.type === 'checkbox';
      if ((isWriting(event) && !isBox) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector('dialog[open]') !== null || body.current === null) return;
      const links = [...body.current.querySelectorAll<HTMLElement>('a[data-row]')];
      const row = document.activeElement?.closest('tr[data-job]') ?? null;
      const at = links.findIndex((link) => row?.contains(link) === true);
      if (event.key === 'j' || event.key === 'k') {
        const next = at === -1 ? 0 : at + (event.key === 'j' ? 1 : -1);
        links[Math.min(Math.max(0, next), links.length - 1)]?.focus();
      } else if (event.key === 'x' && row instanceof HTMLElement && row.dataset['job'] !== undefined) {
        select.current(row.dataset['job']);
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [body, isOn]);
}
