import { Cpu } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function WorkersPage() {
  return (
    <>
      <PageHeader title="Workers" />
      <EmptyState icon={Cpu} title="Nothing here yet" />
    </>
  );
}
