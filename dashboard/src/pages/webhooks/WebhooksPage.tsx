import { Link } from '@tanstack/react-router';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import type { Webhook } from '@/api/documents';
import { useAllows } from '@/api/session';
import { useWebhooks } from '@/api/webhooks';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { PageHeader } from '@/components/PageHeader';
import { Pager } from '@/components/Pager';
import { RelativeTime } from '@/components/RelativeTime';
import { SkeletonRows } from '@/components/Skeleton';
import { Table, Td, Th, Tr } from '@/components/Table';
import { useCursors } from '@/components/useCursors';
import { WebhookSecret } from './SecretNote';
import { WebhookActions } from './WebhookActions';
import { EventList, WebhookBadge } from './WebhookBadge';
import { CreateWebhookDialog } from './WebhookDialog';

export function WebhooksPage() {
  const [isNew, setIsNew] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const may = useAllows('jobs:write');
  const cursors = useCursors();
  const { data, error, refetch } = useWebhooks(cursors.cursor);
  const create = may && (
    <Button variant="primary" icon={Plus} onClick={() => setIsNew(true)}>
      New webhook
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Webhooks"
        note="URLs that are notified when a job ends. Every message is signed, retried on failure, and can be resent."
        actions={create}
      />
      <Card flush>
        {data === undefined && error !== null && <ErrorState error={error} retry={() => void refetch()} />}
        {data === undefined && error === null && <SkeletonRows rows={4} label="Loading webhooks" />}
        {data?.items.length === 0 && (
          <EmptyState icon={WebhookIcon} title="No webhooks yet" action={create}>
            Enter a URL and choose its events, and Foreman notifies it, so that you need not poll.
          </EmptyState>
        )}
        {data !== undefined && data.items.length > 0 && (
          <>
            <WebhookTable webhooks={data.items} />
            <Pager label="Pages of webhooks" {...cursors.pager(data.next)} />
          </>
        )}
      </Card>
      {isNew && <CreateWebhookDialog onMade={setSecret} onClose={() => setIsNew(false)} />}
      {secret !== null && <WebhookSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <Table label="Webhooks">
      <thead>
        <tr>
          <Th>Endpoint</Th>
          <Th className="hidden md:table-cell">Events</Th>
          <Th className="hidden sm:table-cell">State</Th>
          <Th className="hidden lg:table-cell">Created</Th>
          <Th>
            <span className="sr-only">Actions</span>
          </Th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => (
          <Tr key={webhook.id}>
            <Td className="max-w-0 min-w-52 md:w-2/5">
              <Link
                to="/webhooks/$webhook"
                params={{ webhook: webhook.id }}
                className="block font-mono text-xs font-medium wrap-anywhere hover:text-accent hover:underline"
              >
                {webhook.url}
              </Link>
              <span className="block truncate text-xs text-muted">{webhook.description}</span>
              <span className="mt-1 block sm:hidden">
                <WebhookBadge webhook={webhook} />
              </span>
            </Td>
            <Td className="hidden md:table-cell">
              <EventList events={webhook.events} />
            </Td>
            <Td className="hidden sm:table-cell">
              <WebhookBadge webhook={webhook} />
            </Td>
            <Td className="hidden lg:table-cell">
              <RelativeTime at={webhook.created_at} />
            </Td>
            <Td className="w-10 text-right">
              <WebhookActions webhook={webhook} />
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}
