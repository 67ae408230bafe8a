import { Plus } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function SubmitPage() {
  return (
    <>
      <PageHeader title="Submit a job" />
      <EmptyState icon={Plus} title="Nothing here yet" />
    </>
  );
}
