import { Rows3 } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function JobPage() {
  return (
    <>
      <PageHeader title="Job" />
      <EmptyState icon={Rows3} title="Nothing here yet" />
    </>
  );
}
