import { Link } from '@tanstack/react-router';
import { useDelivery } from '@/api/webhooks';
import { ErrorNote } from '@/components/ErrorState';
import { Code } from '@/components/Code';
import { JsonView, laidOut } from '@/components/JsonView';
import { Skeleton } from '@/components/Skeleton';

/** The message as it was sent, and what the endpoint said to it last. */
export function DeliveryDetail({ webhook, delivery }: { webhook: string; delivery: string }) {
  const { data, error } = useDelivery(webhook, delivery);
  if (data === undefined)
    return error === null ? <Skeleton className="h-20 w-full" /> : <ErrorNote error={error} />;
  const job = data.job;
  const attempt = job?.attempts?.findLast((each) => each.response !== null && each.response !== undefined);
  const answered = attempt?.response;
  const message = job?.body ?? job?.payload;
  return (
    <div className="grid gap-3 text-sm lg:grid-cols-2">
      <div className="min-w-0 space-y-1">
        <p className="text-xs font-medium text-muted">Message</p>
        {message === null || message === undefined ? (
          <p className="text-muted">No longer kept.</p>
        ) : (
          <JsonView label="The message" value={message} />
        )}
        <p className="text-xs wrap-anywhere text-faint">
          <code className="font-mono">webhook-id: {data.message_id}</code>
        </p>
      </div>
      <div className="min-w-0 space-y-1">
        <p className="text-xs font-medium text-muted">
          Answer{answered !== null && answered !== undefined && `: ${answered.status}`}
        </p>
        {answered === null || answered === undefined ? (
          <p className="text-muted">{data.error ?? 'None yet.'}</p>
        ) : (
          <Code
            label="The response of the endpoint"
            text={answered.body === undefined || answered.body === '' ? '(empty)' : laidOut(answered.body)}
            wrap
          />
        )}
        <p className="flex flex-wrap gap-x-4 text-xs">
          <Link to="/jobs/$id" params={{ id: delivery }} className="text-accent hover:underline">
            All attempts, as a job
          </Link>
          {typeof data.about === 'string' && (
            <Link to="/jobs/$id" params={{ id: data.about }} className="text-accent hover:underline">
              The job it is about
            </Link>
          )}
        </p>
      </div>
    </div>
  );
}
