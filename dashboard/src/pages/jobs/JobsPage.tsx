import { Rows3 } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function JobsPage() {
  return (
    <>
      <PageHeader title="Jobs" />
      <EmptyState icon={Rows3} title="Nothing here yet" />
    </>
  );
}
