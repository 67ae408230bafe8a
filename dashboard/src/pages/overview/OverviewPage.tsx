import { LayoutDashboard } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function OverviewPage() {
  return (
    <>
      <PageHeader title="Overview" />
      <EmptyState icon={LayoutDashboard} title="Nothing here yet" />
    </>
  );
}
