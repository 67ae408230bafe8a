import { Layers } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function QueuesPage() {
  return (
    <>
      <PageHeader title="Queues" />
      <EmptyState icon={Layers} title="Nothing here yet" />
    </>
  );
}
