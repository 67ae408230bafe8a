import { CalendarClock } from 'lucide-react';
import { EmptyState } from '@/components/EmptyState';
import { PageHeader } from '@/components/PageHeader';

export function SchedulesPage() {
  return (
    <>
      <PageHeader title="Schedules" />
      <EmptyState icon={CalendarClock} title="Nothing here yet" />
    </>
  );
}
