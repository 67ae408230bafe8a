import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import type { Schedule } from '@/api/documents';
import { firesQuery, useSchedule } from '@/api/schedules';
import { Card } from '@/components/Card';
import { DescriptionList } from '@/components/DescriptionList';
import { Countdown } from '@/components/Duration';
import { ErrorState } from '@/components/ErrorState';
import { JsonView } from '@/components/JsonView';
import { PageHeader } from '@/components/PageHeader';
import { RelativeTime } from '@/components/RelativeTime';
import { Skeleton, SkeletonRows } from '@/components/Skeleton';
import { absoluteText } from '@/components/time';
import { useNow } from '@/components/useNow';
import { FireStrip } from './FireStrip';
import { FireList } from './PreviewPane';
import { ScheduleActions } from './ScheduleActions';
import { ScheduleBadge } from './ScheduleBadge';
import { TickHistory } from './TickHistory';
import { inWords, policies, written } from './words';

export function SchedulePage() {
  const { schedule: name } = useParams({ from: '/schedules/$schedule' });
  const navigate = useNavigate();
  const { data, error, refetch } = useSchedule(name);
  if (data === undefined) {
    return (
      <>
        <Back />
        <PageHeader title="Schedule" />
        <Card flush>
          {error === null ? (
            <SkeletonRows label="Loading the schedule" />
          ) : (
            <ErrorState error={error} retry={() => void refetch()} />
          )}
        </Card>
      </>
    );
  }
  const schedule = data.data;
  return (
    <>
      <Back />
      <PageHeader
        title={schedule.name}
        shown={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="break-all">{schedule.name}</span>
            <ScheduleBadge state={schedule.state} />
          </span>
        }
        note={inWords(schedule)}
        actions={
          <ScheduleActions schedule={schedule} spread onDeleted={() => void navigate({ to: '/schedules' })} />
        }
      />
      <div className="space-y-4">
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <div className="min-w-0 space-y-4">
            <NextFires schedule={schedule} />
            <Card title="When">
              <Facts schedule={schedule} />
            </Card>
          </div>
          <Card title="The job it creates" note="hidden values are shown as ***">
            <JsonView label="The job as JSON" value={schedule.job} />
          </Card>
        </div>
        <TickHistory schedule={schedule.id} />
      </div>
    </>
  );
}

function Back() {
  return (
    <Link to="/schedules" className="mb-1 inline-flex items-center gap-1 text-xs text-muted hover:text-ink">
      <ChevronLeft aria-hidden className="size-3.5" />
      Schedules
    </Link>
  );
}

const ASKED = 24;

function NextFires({ schedule }: { schedule: Schedule }) {
  const { data, error } = useQuery(firesQuery(schedule, ASKED));
  const from = Math.floor(useNow() / 10_000) * 10_000;
  if (schedule.state === 'finished') return null;
  const isPaused = schedule.state === 'paused';
  const coming = data?.items.filter(({ at }) => Date.parse(at) >= from) ?? [];
  const last = coming.at(-1);
  return (
    <Card
      title="Next fires"
      note={
        isPaused
          ? 'paused: it would fire at these times'
          : typeof schedule.next_fire_at === 'string' && (
              <>
                the next one in <Countdown to={schedule.next_fire_at} over="a moment" />
              </>
            )
      }
    >
      {error !== null && data === undefined && <ErrorState error={error} />}
      {error === null && data === undefined && <Skeleton className="h-6 w-full" />}
      {data !== undefined && last !== undefined && (
        <FireStrip
          label="The next fires"
          span={{ from, to: Date.parse(last.at) + Math.max(1_000, (Date.parse(last.at) - from) * 0.02) }}
          asked={ASKED + 1}
          rows={[{ id: schedule.id, name: null, fires: coming }]}
        />
      )}
      {data !== undefined && (
        <div className="mt-3 text-sm">
          <FireList fires={coming.slice(0, 5)} />
        </div>
      )}
    </Card>
  );
}

function Facts({ schedule }: { schedule: Schedule }) {
  const isCron = typeof schedule.cron === 'string';
  return (
    <div className="space-y-4">
      <DescriptionList
        items={[
          { name: 'Description', value: inWords(schedule) },
          { name: 'Expression', value: <code className="font-mono">{written(schedule)}</code> },
          ...(isCron ? [{ name: 'Time zone', value: schedule.timezone ?? 'UTC' }] : []),
          ...moment('Not before', schedule.start_at),
          ...moment('Not after', schedule.end_at),
          ...moment('Held since', schedule.held_for),
          { name: 'Created', value: <RelativeTime at={schedule.created_at} /> },
          {
            name: 'Edited',
            value: (
              <>
                <RelativeTime at={schedule.updated_at} />{' '}
                <span className="text-faint">(version {schedule.version})</span>
              </>
            ),
          },
        ]}
      />
      <div>
        <h3 className="mb-1 text-xs font-medium text-muted">How it behaves</h3>
        <ul className="list-disc space-y-1 pl-4 text-sm marker:text-faint">
          {policies(schedule).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function moment(name: string, at: string | null | undefined) {
  return typeof at === 'string' ? [{ name, value: absoluteText(at) }] : [];
}
