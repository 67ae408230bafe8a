import { Link } from '@tanstack/react-router';
import { CirclePause, CirclePlay, Layers } from 'lucide-react';
import { useState } from 'react';
import type { Queue, State } from '@/api/documents';
import { usePauseQueue, useQueues } from '@/api/queues';
import { useAllows } from '@/api/session';
import { Badge } from '@/components/Badge';
import { Button, buttonClass } from '@/components/Button';
import { Card } from '@/components/Card';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { countText, plural } from '@/components/numbers';
import { PageHeader } from '@/components/PageHeader';
import { SkeletonRows } from '@/components/Skeleton';
import { Table, Td, Th, Tr } from '@/components/Table';
import { toast } from '@/components/toasts';
import { byAttention, LONG_WAIT_MS, oldestMs, rateText, waiting } from './attention';
import { QueueSpark } from './QueueSpark';

/** Each picture is a request of its own. */
const PICTURED = 24;

export function QueuesPage() {
  const { data, error, refetch } = useQueues();
  return (
    <>
      <PageHeader
        title="Queues"
        note="A queue is created by its first job. Queues that need attention are listed first."
      />
      <Card flush>
        {data === undefined && error !== null && <ErrorState error={error} retry={() => void refetch()} />}
        {data === undefined && error === null && <SkeletonRows rows={5} label="Loading queues" />}
        {data?.items.length === 0 && (
          <EmptyState
            icon={Layers}
            title="No queues yet"
            action={
              <Link to="/submit" className={buttonClass('primary')}>
                Submit a job
              </Link>
            }
          >
            The first job creates its queue: <code className="font-mono">default</code>, unless the job names
            another.
          </EmptyState>
        )}
        {data !== undefined && data.items.length > 0 && <QueueTable queues={byAttention(data.items)} />}
      </Card>
    </>
  );
}

export function QueueTable({ queues }: { queues: Queue[] }) {
  const [pausing, setPausing] = useState<Queue | null>(null);
  const may = useAllows('jobs:write');
  const pause = usePauseQueue();
  const resume = (queue: string) =>
    pause.mutate(
      { queue, paused: false },
      {
        onSuccess: () => toast.done(`Queue ${queue} resumed`),
        onError: (failed) => toast.failed(`${queue} is still paused`, failed),
      },
    );
  return (
    <>
      <Table label="Queues">
        <thead>
          <tr>
            <Th>Queue</Th>
            <Th className="text-right">Waiting</Th>
            <Th className="text-right">Running</Th>
            <Th className="hidden text-right md:table-cell">Retrying</Th>
            <Th className="hidden text-right md:table-cell">Scheduled</Th>
            <Th className="hidden text-right sm:table-cell">Oldest waits</Th>
            <Th className="hidden text-right md:table-cell" title="Jobs that ended, over the last minute">
              Rate
            </Th>
            <Th className="hidden lg:table-cell">Last hour</Th>
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue, at) => (
            <Tr key={queue.name}>
              <Td className="max-w-0 min-w-28 sm:max-w-60">
                <Link
                  to="/jobs"
                  search={{ queue: queue.name }}
                  className="block font-medium wrap-anywhere hover:text-accent hover:underline"
                >
                  {queue.name}
                </Link>
                {queue.paused && (
                  <Badge tone="warn" icon={CirclePause} title="Its jobs wait until the queue is resumed">
                    paused
                  </Badge>
                )}
                <span className="block text-xs text-faint md:hidden">{rateText(queue.rate)}</span>
              </Td>
              <Depth queue={queue.name} state="pending" count={queue.pending} />
              <Depth queue={queue.name} state="running" count={queue.running} />
              <Depth
                queue={queue.name}
                state="retrying"
                count={queue.retrying}
                className="hidden md:table-cell"
              />
              <Depth
                queue={queue.name}
                state="scheduled"
                count={queue.scheduled}
                className="hidden md:table-cell"
              />
              <Td className="hidden text-right sm:table-cell">
                <Oldest queue={queue} />
              </Td>
              <Td className="hidden text-right md:table-cell">{rateText(queue.rate)}</Td>
              <Td className="hidden w-40 lg:table-cell">
                {at < PICTURED && <QueueSpark queue={queue.name} />}
              </Td>
              <Td className="w-px text-right">
                {may &&
                  (queue.paused ? (
                    <Button
                      size="sm"
                      icon={CirclePlay}
                      aria-label={`Resume ${queue.name}`}
                      busy={pause.isPending && pause.variables.queue === queue.name}
                      onClick={() => resume(queue.name)}
                    >
                      <span className="hidden sm:inline">Resume</span>
                    </Button>
                  ) : (
                    <Button
                      size="sm"
                      icon={CirclePause}
                      aria-label={`Pause ${queue.name}`}
                      onClick={() => setPausing(queue)}
                    >
                      <span className="hidden sm:inline">Pause</span>
                    </Button>
                  ))}
              </Td>
            </Tr>
          ))}
        </tbody>
      </Table>
      <ConfirmDialog
        open={pausing !== null}
        onClose={() => {
          setPausing(null);
          pause.reset();
        }}
        onConfirm={() => {
          if (pausing === null) return;
          pause.mutate(
            { queue: pausing.name, paused: true },
            {
              onSuccess: () => {
                toast.done(`Queue ${pausing.name} paused`);
                setPausing(null);
              },
            },
          );
        }}
        title={`Pause ${pausing?.name ?? ''}?`}
        confirm="Pause"
        busy={pause.isPending}
        error={pause.error}
      >
        <p>
          Jobs are still accepted and wait; none starts until the queue is resumed.
          {pausing !== null &&
            pausing.running > 0 &&
            ` ${plural(pausing.running, 'running job')} will finish.`}
          {pausing !== null &&
            waiting(pausing) > 0 &&
            ` ${plural(waiting(pausing), 'job')} that would start soon will wait.`}
        </p>
      </ConfirmDialog>
    </>
  );
}

interface DepthProps {
  queue: string;
  state: State;
  count: number;
  className?: string;
}

/** A number that leads to the jobs that it counts. */
function Depth({ queue, state, count, className = '' }: DepthProps) {
  return (
    <Td className={`text-right ${className}`}>
      {count === 0 ? (
        <span className="text-faint">0</span>
      ) : (
        <Link to="/jobs" search={{ queue, state }} className="font-medium hover:text-accent hover:underline">
          {countText(count)}
        </Link>
      )}
    </Td>
  );
}

function Oldest({ queue }: { queue: Queue }) {
  const age = oldestMs(queue);
  if (age === 0) return <span className="text-faint">–</span>;
  return (
    <span className={age >= LONG_WAIT_MS ? 'font-medium text-warn' : ''}>
      <Duration ms={age} />
    </span>
  );
}
