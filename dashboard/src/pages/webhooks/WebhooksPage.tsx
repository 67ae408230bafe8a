import { Webhook } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function WebhooksPage() {
  return (
    <>
      <PageHeader title="Webhooks" />
      <EmptyState icon={Webhook} title="Nothing here yet" />
    </>
  );
}
