import { Skull } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function DeadPage() {
  return (
    <>
      <PageHeader title="Dead letters" />
      <EmptyState icon={Skull} title="Nothing here yet" />
    </>
  );
}
