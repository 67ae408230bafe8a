import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schedule } from '@/api/documents';
import { firesQuery } from '@/api/schedules';
import { Card } from '@/components/Card';
import { plural } from '@/components/numbers';
import { Segmented } from '@/components/Segmented';
import { useNow } from '@/components/useNow';
import { FireStrip } from './FireStrip';

const ASKED = 100;
const SHOWN = 12;

type Window = 'hour' | 'day' | 'week';

const LENGTHS: Record<Window, number> = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };
const OPTIONS: { value: Window; label: string }[] = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week' },
];

/** The next fires of all schedules on one line of time. */
export function Upcoming({ schedules }: { schedules: Schedule[] }) {
  const [chosen, setChosen] = useState<Window | null>(null);
  const active = schedules
    .filter(({ next_fire_at }) => typeof next_fire_at === 'string')
    .toSorted((a, b) => String(a.next_fire_at).localeCompare(String(b.next_fire_at)));
  const shown = active.slice(0, SHOWN);
  const fires = useQueries({ queries: shown.map((schedule) => firesQuery(schedule, ASKED)) });
  // Moves once in ten seconds: a line that creeps every second draws the eye for nothing.
  const from = Math.floor(useNow() / 10_000) * 10_000;
  if (active.length === 0) return null;
  const window = chosen ?? telling(active, from);
  return (
    <Card
      title="Coming up"
      note={active.length > SHOWN ? `the ${SHOWN} that fire next, of ${active.length}` : undefined}
      actions={<Segmented label="How far ahead" value={window} options={OPTIONS} onChange={setChosen} />}
    >
      <FireStrip
        label={`Fires in the next ${window}, by schedule`}
        span={{ from, to: from + LENGTHS[window] }}
        asked={ASKED}
        rows={shown.map((schedule, at) => ({
          id: schedule.id,
          name: (
            <Link
              to="/schedules/$schedule"
              params={{ schedule: schedule.id }}
              title={`${schedule.name}: ${schedule.description}`}
              className="hover:text-accent hover:underline"
            >
              {schedule.name}
            </Link>
          ),
          fires: fires[at]?.data?.items,
        }))}
      />
      <p className="sr-only">{plural(active.length, 'schedule')} will fire.</p>
    </Card>
  );
}

/** The shortest time in which most of them fire. */
function telling(active: Schedule[], from: number): Window {
  const most = (length: number) =>
    active.filter(({ next_fire_at }) => Date.parse(String(next_fire_at)) - from <= length).length >
    active.length / 2;
  return OPTIONS.find(({ value }) => most(LENGTHS[value]))?.value ?? 'week';
}
