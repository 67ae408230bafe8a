import { Link } from '@tanstack/react-router';
import { ChevronRight, Inbox, Send } from 'lucide-react';
import { Fragment, useState } from 'react';
import { isFinal, type Delivery as Whole } from '@/api/documents';
import { keys } from '@/api/keys';
import { useAllows } from '@/api/session';
import { useDeliveries, useResend } from '@/api/webhooks';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { Countdown } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { Pager } from '@/components/Pager';
import { RelativeTime } from '@/components/RelativeTime';
import { SkeletonRows } from '@/components/Skeleton';
import { StateBadge } from '@/components/StateBadge';
import { Table, Td, Th, Tr } from '@/components/Table';
import { toast } from '@/components/toasts';
import { useCursors } from '@/components/useCursors';
import { useReread } from '@/live/useReread';
import { DeliveryDetail } from './DeliveryDetail';

/** As it stands in a list. */
type Delivery = Omit<Whole, 'job'>;

/** What was sent to the endpoint, newest first. Each is a job itself. */
export function Deliveries({ webhook }: { webhook: string }) {
  const cursors = useCursors();
  const { data, error, refetch } = useDeliveries(webhook, cursors.cursor);
  // New ones too, of which the list does not know yet.
  useReread(keys.webhooks.deliveries(webhook, cursors.cursor), ({ queue }) => queue === 'foreman.webhooks');
  return (
    <Card title="Deliveries" note="newest first" flush>
      {data === undefined && error !== null && <ErrorState error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows rows={5} label="Loading deliveries" />}
      {data?.items.length === 0 && (
        <EmptyState icon={Inbox} title="No deliveries yet">
          Messages are listed here with the response of the endpoint. Send a test message to check that it is
          reachable at all.
        </EmptyState>
      )}
      {data !== undefined && data.items.length > 0 && (
        <>
          <DeliveryTable webhook={webhook} deliveries={data.items} />
          <Pager label="Pages of deliveries" {...cursors.pager(data.next)} />
        </>
      )}
    </Card>
  );
}

/** On a phone the answer and its time stand below the event. */
function DeliveryTable({ webhook, deliveries }: { webhook: string; deliveries: Delivery[] }) {
  const may = useAllows('jobs:write');
  const [open, setOpen] = useState<string | null>(null);
  const resend = useResend(webhook);
  const again = (delivery: string) =>
    resend.mutate(delivery, {
      onSuccess: () =>
        toast.done('Resending the message', 'It has the same id, so the receiver can ignore a duplicate.'),
      onError: (error) => toast.failed('Could not resend the message', error),
    });
  return (
    <Table label="Deliveries">
      <thead>
        <tr>
          <Th>State</Th>
          <Th>Event</Th>
          <Th className="hidden md:table-cell">About</Th>
          <Th className="hidden text-right sm:table-cell">Answer</Th>
          <Th className="hidden text-right sm:table-cell">Tries</Th>
          <Th className="hidden sm:table-cell">When</Th>
          <Th>
            <span className="sr-only">Actions</span>
          </Th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Fragment key={delivery.id}>
            <Tr>
              <Td>
                <State delivery={delivery} />
              </Td>
              <Td className="max-w-0 min-w-32 sm:max-w-80">
                <button
                  type="button"
                  aria-expanded={open === delivery.id}
                  {...(open === delivery.id ? { 'aria-controls': `delivery-${delivery.id}` } : {})}
                  title="The message and the response"
                  onClick={() => setOpen(open === delivery.id ? null : delivery.id)}
                  className="flex max-w-full items-center gap-1 text-left font-mono text-xs hover:text-accent"
                >
                  <ChevronRight
                    aria-hidden
                    className={`size-3.5 shrink-0 text-muted transition-transform ${open === delivery.id ? 'rotate-90' : ''}`}
                  />
                  <span className="min-w-0 wrap-anywhere">{delivery.event}</span>
                </button>
                <span className="block pl-4.5 text-xs text-muted sm:hidden">
                  <Answer status={delivery.status} /> ·{' '}
                  <RelativeTime at={delivery.finished_at ?? delivery.created_at} />
                </span>
                {typeof delivery.error === 'string' && (
                  <span className="line-clamp-2 pl-4.5 text-xs wrap-anywhere text-bad" title={delivery.error}>
                    {delivery.error}
                  </span>
                )}
              </Td>
              <Td className="hidden md:table-cell">
                {typeof delivery.about === 'string' ? (
                  <Link
                    to="/jobs/$id"
                    params={{ id: delivery.about }}
                    className="font-mono text-xs text-muted hover:text-accent hover:underline"
                  >
                    …{delivery.about.slice(-8)}
                  </Link>
                ) : (
                  <span className="text-faint">–</span>
                )}
              </Td>
              <Td className="hidden text-right sm:table-cell">
                <Answer status={delivery.status} />
              </Td>
              <Td className="hidden text-right sm:table-cell">{delivery.attempt ?? 0}</Td>
              <Td className="hidden sm:table-cell">
                <RelativeTime at={delivery.finished_at ?? delivery.created_at} />
              </Td>
              <Td className="w-10 text-right">
                {may &&
                  delivery.state !== null &&
                  delivery.state !== undefined &&
                  isFinal(delivery.state) && (
                    <Button
                      size="sm"
                      icon={Send}
                      className="max-sm:size-8 max-sm:px-0"
                      title="Resend"
                      aria-label={`Resend ${delivery.event} of ${delivery.created_at}`}
                      busy={resend.isPending && resend.variables === delivery.id}
                      onClick={() => again(delivery.id)}
                    >
                      <span className="max-sm:hidden">Resend</span>
                    </Button>
                  )}
              </Td>
            </Tr>
            {open === delivery.id && (
              <tr id={`delivery-${delivery.id}`}>
                <td colSpan={7} className="bg-sunken px-4 py-3">
                  <DeliveryDetail webhook={webhook} delivery={delivery.id} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </Table>
  );
}

function State({ delivery }: { delivery: Delivery }) {
  if (delivery.state === null || delivery.state === undefined) {
    return <span className="text-xs text-faint">no longer kept</span>;
  }
  return (
    <>
      <StateBadge state={delivery.state} />
      {delivery.state === 'retrying' && typeof delivery.next_attempt_at === 'string' && (
        <span className="block text-xs text-muted">
          again in <Countdown to={delivery.next_attempt_at} over="a moment" />
        </span>
      )}
    </>
  );
}

function Answer({ status }: { status: number | null | undefined }) {
  if (status === null || status === undefined) return <span className="text-faint">–</span>;
  return <span className={status < 300 ? 'text-good' : 'font-medium text-bad'}>{status}</span>;
}
