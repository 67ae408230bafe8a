import { CalendarClock } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function SchedulePage() {
  return (
    <>
      <PageHeader title="Schedule" />
      <EmptyState icon={CalendarClock} title="Nothing here yet" />
    </>
  );
}
