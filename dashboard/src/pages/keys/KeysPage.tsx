import { KeyRound } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function KeysPage() {
  return (
    <>
      <PageHeader title="Keys" />
      <EmptyState icon={KeyRound} title="Nothing here yet" />
    </>
  );
}
