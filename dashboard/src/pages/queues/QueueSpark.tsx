import { useStatistics } from '@/api/overview';
import { plural } from '@/components/numbers';
import { Sparkline } from '@/components/Sparkline';
import { columns, counts, total } from '@/pages/overview/series';

/** How many jobs of the queue ended, minute by minute in the last hour. */
export function QueueSpark({ queue }: { queue: string }) {
  const statistics = useStatistics('minute', queue).data;
  if (statistics === undefined) return <span className="block h-7 w-24" />;
  const drawn = columns(statistics);
  const completed = counts(drawn, 'completed');
  const failures = [counts(drawn, 'failed'), counts(drawn, 'dead')];
  const bad = completed.map((_, at) => failures.reduce((sum, each) => sum + (each[at] ?? 0), 0));
  return (
    <Sparkline
      values={completed}
      bad={bad}
      summary={`In the last hour ${plural(total(completed), 'job')} completed and ${total(bad)} failed`}
    />
  );
}
