import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import type { Webhook } from '@/api/documents';
import { useWebhook } from '@/api/webhooks';
import { Card } from '@/components/Card';
import { CopyButton } from '@/components/CopyButton';
import { DescriptionList } from '@/components/DescriptionList';
import { ErrorState } from '@/components/ErrorState';
import { PageHeader } from '@/components/PageHeader';
import { RelativeTime } from '@/components/RelativeTime';
import { SkeletonRows } from '@/components/Skeleton';
import { Deliveries } from './Deliveries';
import { WebhookActions } from './WebhookActions';
import { EventList, WebhookBadge } from './WebhookBadge';

export function WebhookPage() {
  const { webhook: id } = useParams({ from: '/webhooks/$webhook' });
  const navigate = useNavigate();
  const { data, error, refetch } = useWebhook(id);
  return (
    <>
      <Link to="/webhooks" className="mb-1 inline-flex items-center gap-1 text-xs text-muted hover:text-ink">
        <ChevronLeft aria-hidden className="size-3.5" />
        Webhooks
      </Link>
      {data === undefined ? (
        <>
          <PageHeader title="Webhook" />
          <Card flush>
            {error === null ? (
              <SkeletonRows rows={4} label="Loading the webhook" />
            ) : (
              <ErrorState error={error} retry={() => void refetch()} />
            )}
          </Card>
        </>
      ) : (
        <>
          <PageHeader
            title={data.description === '' ? 'Webhook' : data.description}
            note={<code className="font-mono break-all">{data.url}</code>}
            actions={
              <WebhookActions webhook={data} spread onDeleted={() => void navigate({ to: '/webhooks' })} />
            }
          />
          <div className="space-y-4">
            <Card title="Endpoint">
              <Facts webhook={data} />
            </Card>
            <Deliveries webhook={data.id} />
          </div>
        </>
      )}
    </>
  );
}

function Facts({ webhook }: { webhook: Webhook }) {
  return (
    <DescriptionList
      items={[
        { name: 'State', value: <WebhookBadge webhook={webhook} /> },
        { name: 'Events', value: <EventList events={webhook.events} /> },
        {
          name: 'Signed with',
          value:
            webhook.secrets > 1
              ? 'two secrets, during a rotation'
              : 'one secret, shown only when it was created',
        },
        {
          name: 'Id',
          value: (
            <span className="inline-flex items-center gap-1">
              <code className="font-mono text-xs break-all">{webhook.id}</code>
              <CopyButton text={webhook.id} label="Copy the webhook's id" />
            </span>
          ),
        },
        { name: 'Created', value: <RelativeTime at={webhook.created_at} /> },
        { name: 'Edited', value: <RelativeTime at={webhook.updated_at} /> },
      ]}
    />
  );
}
