import { Webhook } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function WebhookPage() {
  return (
    <>
      <PageHeader title="Webhook" />
      <EmptyState icon={Webhook} title="Nothing here yet" />
    </>
  );
}
