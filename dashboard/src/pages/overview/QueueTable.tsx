import { Link } from '@tanstack/react-router';
import type { QueueFigures, Step } from '@/api/documents';
import { Card } from '@/components/Card';
import { Duration } from '@/components/Duration';
import { ErrorState } from '@/components/ErrorState';
import { countText } from '@/components/numbers';
import { Table, Td, Th, Tr } from '@/components/Table';

interface QueueTableProps {
  queues: QueueFigures[] | undefined;
  step: Step;
  error: unknown;
}

/** The same figures, queue by queue. */
export function QueueTable({ queues, step, error }: QueueTableProps) {
  const span = step === 'hour' ? 'day' : 'hour';
  if (queues === undefined) return error === null ? null : <ErrorState error={error} />;
  if (queues.length === 0) return null;
  return (
    <Card title="Queues" note={`in this ${span}`} flush>
      <Table label={`Queues in this ${span}`}>
        <thead>
          <tr>
            <Th>Queue</Th>
            <Th className="text-right">Submitted</Th>
            <Th className="text-right">Completed</Th>
            <Th className="text-right">Failed</Th>
            <Th className="text-right">Dead</Th>
            <Th className="text-right">Wait p95</Th>
            <Th className="text-right">Run p95</Th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <Tr key={queue.queue}>
              <Td>
                <Link
                  to="/"
                  search={{ queue: queue.queue, ...(step === 'hour' ? { step } : {}) }}
                  className="font-medium hover:text-accent hover:underline"
                >
                  {queue.queue}
                </Link>
              </Td>
              <Number value={queue.submitted} />
              <Number value={queue.completed} />
              <Number value={queue.failed} bad />
              <Number value={queue.dead} bad />
              <Td className="text-right">
                <Duration ms={queue.wait?.p95_ms} />
              </Td>
              <Td className="text-right">
                <Duration ms={queue.run?.p95_ms} />
              </Td>
            </Tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

function Number({ value, bad = false }: { value: number; bad?: boolean }) {
  const look = value === 0 ? 'text-faint' : bad ? 'text-bad font-medium' : '';
  return <Td className={`text-right ${look}`}>{countText(value)}</Td>;
}
