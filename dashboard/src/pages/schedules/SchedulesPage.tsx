import { CalendarClock, CalendarPlus } from 'lucide-react';
import { useState } from 'react';
import { keys } from '@/api/keys';
import { useSchedules } from '@/api/schedules';
import { useAllows } from '@/api/session';
import { Button } from '@/components/Button';
import { Card } from '@/components/Card';
import { EmptyState } from '@/components/EmptyState';
import { ErrorState } from '@/components/ErrorState';
import { PageHeader } from '@/components/PageHeader';
import { Pager } from '@/components/Pager';
import { SkeletonRows } from '@/components/Skeleton';
import { useCursors } from '@/components/useCursors';
import { useReread } from '@/live/useReread';
import { CreateScheduleDialog } from './ScheduleDialog';
import { ScheduleTable } from './ScheduleTable';
import { Upcoming } from './Upcoming';

export function SchedulesPage() {
  const [isNew, setIsNew] = useState(false);
  const may = useAllows('schedules:write');
  const cursors = useCursors();
  const { data, error, refetch } = useSchedules(cursors.cursor);
  useReread(
    keys.schedules.lists,
    ({ id }) => data?.items.some(({ last_tick }) => last_tick?.job === id) === true,
  );
  const create = may && (
    <Button variant="primary" icon={CalendarPlus} onClick={() => setIsNew(true)}>
      New schedule
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Schedules"
        note="Jobs created automatically: by a cron expression, at intervals, or once at a set time."
        actions={create}
      />
      {data === undefined && error !== null && (
        <Card flush>
          <ErrorState error={error} retry={() => void refetch()} />
        </Card>
      )}
      {data === undefined && error === null && (
        <Card flush>
          <SkeletonRows label="Loading schedules" />
        </Card>
      )}
      {data?.items.length === 0 && (
        <Card flush>
          <EmptyState icon={CalendarClock} title="No schedules yet" action={create}>
            A schedule creates a job at each of its times, exactly once, even if schedulers restart. Try one
            that fires every minute and watch its jobs.
          </EmptyState>
        </Card>
      )}
      {data !== undefined && data.items.length > 0 && (
        <div className="space-y-4">
          <Upcoming schedules={data.items} />
          <Card flush>
            <ScheduleTable schedules={data.items} />
            <Pager label="Pages of schedules" {...cursors.pager(data.next)} />
          </Card>
        </div>
      )}
      {isNew && <CreateScheduleDialog onClose={() => setIsNew(false)} />}
    </>
  );
}
