import { ChevronRight, Cpu, EyeOff } from 'lucide-react';
import { Fragment, useState } from 'react';
import type { Worker } from '@/api/documents';
import { isStatus } from '@/api/problem';
import { useIsOperator } from '@/api/session';
import { useWorkers } from '@/api/workers';
import { Card } from '@/components/Card';
import { Code } from '@/components/Code';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { plural } from '@/components/numbers';
import { PageHeader } from '@/components/PageHeader';
import { RelativeTime } from '@/components/RelativeTime';
import { SkeletonRows } from '@/components/Skeleton';
import { Table, Td, Th, Tr } from '@/components/Table';
import { byEnd, byName, isHere } from './health';
import { SlotsBar } from './SlotsBar';
import { WorkerBadge } from './WorkerBadge';
import { WorkerJobs } from './WorkerJobs';

export function WorkersPage() {
  const isOperator = useIsOperator();
  return (
    <>
      <PageHeader
        title="Workers"
        note="The processes that run jobs. Each sends a heartbeat every few seconds; if it stops, its jobs are given to other workers."
      />
      {isOperator ? <Workers /> : <NotForYou />}
    </>
  );
}

function NotForYou() {
  return (
    <Card flush>
      <EmptyState icon={EyeOff} title="Workers are for operators">
        They serve every tenant, so only a key with the scope <code className="font-mono">admin</code> sees
        them.
      </EmptyState>
    </Card>
  );
}

function Workers() {
  const { data, error, refetch } = useWorkers();
  if (isStatus(error, 403)) return <NotForYou />;
  if (data === undefined) {
    return (
      <Card flush>
        {error === null ? (
          <SkeletonRows rows={3} label="Loading workers" />
        ) : (
          <ErrorState error={error} retry={() => void refetch()} />
        )}
      </Card>
    );
  }
  const here = byName(data.data.items.filter(isHere));
  const gone = byEnd(data.data.items.filter((worker) => !isHere(worker)));
  const slots = here.reduce((sum, worker) => sum + worker.slots, 0);
  const running = here.reduce((sum, worker) => sum + worker.running, 0);
  return (
    <div className="space-y-4">
      <Card
        title="Online"
        note={
          here.length === 0
            ? undefined
            : `${plural(here.length, 'worker')}, ${running} of ${slots} slots in use`
        }
        flush
      >
        {here.length === 0 ? (
          <EmptyState
            icon={Cpu}
            title="No workers are running"
            action={<Code label="How to start a worker" text="foreman worker" />}
          >
            Jobs are accepted and wait until a worker starts.
          </EmptyState>
        ) : (
          <WorkerTable label="Online workers" workers={here} at={data.at} />
        )}
      </Card>
      {gone.length > 0 && (
        <Card title="Offline" note="kept for a while" flush>
          <WorkerTable label="Offline workers" workers={gone} at={data.at} areGone />
        </Card>
      )}
    </div>
  );
}

interface WorkerTableProps {
  label: string;
  workers: Worker[];
  at: number;
  areGone?: boolean;
}

export function WorkerTable({ label, workers, at, areGone = false }: WorkerTableProps) {
  const [open, setOpen] = useState<string | null>(areGone ? null : (workers[0]?.id ?? null));
  return (
    <Table label={label}>
      <thead>
        <tr>
          <Th>Worker</Th>
          <Th>State</Th>
          {!areGone && <Th className="hidden sm:table-cell">Slots</Th>}
          <Th className="hidden md:table-cell">Queues</Th>
          <Th className="hidden lg:table-cell">Version</Th>
          <Th className="hidden md:table-cell">Started</Th>
          <Th>Last heartbeat</Th>
        </tr>
      </thead>
      <tbody>
        {workers.map((worker) => (
          <Fragment key={worker.id}>
            <Tr>
              <Td className="max-w-0 min-w-32 sm:max-w-72">
                <Name
                  worker={worker}
                  isOpen={open === worker.id}
                  {...(areGone ? {} : { onToggle: () => setOpen(open === worker.id ? null : worker.id) })}
                />
                {!areGone && (
                  <div className="mt-1 pl-5 sm:hidden">
                    <SlotsBar running={worker.running} slots={worker.slots} />
                  </div>
                )}
              </Td>
              <Td>
                <WorkerBadge worker={worker} at={at} />
              </Td>
              {!areGone && (
                <Td className="hidden sm:table-cell">
                  <SlotsBar running={worker.running} slots={worker.slots} />
                </Td>
              )}
              <Td className="hidden max-w-48 truncate md:table-cell">
                {worker.queues.length === 0 ? (
                  <span className="text-muted">all</span>
                ) : (
                  worker.queues.join(', ')
                )}
              </Td>
              <Td className="hidden font-mono text-xs lg:table-cell">{worker.version}</Td>
              <Td className="hidden md:table-cell">
                <RelativeTime at={worker.started_at} />
              </Td>
              <Td>
                <RelativeTime at={worker.heartbeat_at} />
              </Td>
            </Tr>
            {open === worker.id && (
              <tr id={`jobs-of-${worker.id}`}>
                <td colSpan={7} className="bg-sunken px-4 py-2 sm:pl-9">
                  <WorkerJobs worker={worker.id} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </Table>
  );
}

interface NameProps {
  worker: Worker;
  isOpen: boolean;
  onToggle?: () => void;
}

function Name({ worker, isOpen, onToggle }: NameProps) {
  const about = (
    <>
      <span className="block truncate font-medium">{worker.worker}</span>
      <span className="block truncate font-mono text-xs text-faint" title={worker.id}>
        pid {worker.pid} · …{worker.id.slice(-8)}
      </span>
    </>
  );
  if (onToggle === undefined) return <div className="min-w-0">{about}</div>;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      {...(isOpen ? { 'aria-controls': `jobs-of-${worker.id}` } : {})}
      title="Running jobs"
      onClick={onToggle}
      className="flex w-full min-w-0 items-start gap-1 text-left"
    >
      <ChevronRight
        aria-hidden
        className={`mt-0.5 size-4 shrink-0 text-muted transition-transform ${isOpen ? 'rotate-90' : ''}`}
      />
      <span className="min-w-0">{about}</span>
    </button>
  );
}
