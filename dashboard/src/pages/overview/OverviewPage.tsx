import { useNavigate, useSearch } from '@tanstack/react-router';
import { useOverview, useQueueStatistics, useStatistics } from '@/api/overview';
import type { Overview, Step } from '@/api/documents';
import { ErrorState } from '@/components/ErrorState';
import { Field, Select } from '@/components/Field';
import { PageHeader } from '@/components/PageHeader';
import { Segmented } from '@/components/Segmented';
import { Attention } from './Attention';
import { Charts } from './Charts';
import { FirstJob } from './FirstJob';
import { QueueTable } from './QueueTable';
import { StateTiles } from './StateTiles';
import { Vitals } from './Vitals';

export function OverviewPage() {
  const { step = 'minute', queue } = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const overview = useOverview();
  const statistics = useStatistics(step, queue);
  const queues = useQueueStatistics(step);

  const chooseStep = (next: Step) =>
    void navigate({
      search: (before) => ({ ...before, step: next === 'hour' ? next : undefined }),
      replace: true,
    });
  const chooseQueue = (next: string) =>
    void navigate({
      search: (before) => ({ ...before, queue: next === '' ? undefined : next }),
      replace: true,
    });

  if (overview.error !== null && overview.data === undefined) {
    return (
      <>
        <PageHeader title="Overview" />
        <ErrorState error={overview.error} retry={() => void overview.refetch()} />
      </>
    );
  }
  if (overview.data !== undefined && isEmpty(overview.data)) {
    return (
      <>
        <PageHeader title="Overview" note="How your jobs are doing, live." />
        <FirstJob />
      </>
    );
  }
  const names = (queues.data?.items ?? []).map((item) => item.queue);
  return (
    <>
      <PageHeader
        title="Overview"
        note="How your jobs are doing, live."
        actions={
          <>
            <Field label="Queue" hideLabel className="w-36 sm:w-44">
              <Select value={queue ?? ''} onChange={(event) => chooseQueue(event.target.value)}>
                <option value="">All queues</option>
                {(queue === undefined || names.includes(queue) ? names : [queue, ...names]).map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </Select>
            </Field>
            <Segmented
              label="Span of the charts"
              value={step}
              onChange={chooseStep}
              options={[
                { value: 'minute', label: 'By minute' },
                { value: 'hour', label: 'By hour' },
              ]}
            />
          </>
        }
      />
      <div className="space-y-4">
        <Vitals overview={overview.data} statistics={statistics.data} />
        <StateTiles states={overview.data?.states} />
        {overview.data !== undefined && overview.data.attention.length > 0 && (
          <Attention items={overview.data.attention} />
        )}
        <Charts
          statistics={statistics.data}
          error={statistics.error}
          retry={() => void statistics.refetch()}
        />
        <QueueTable queues={queues.data?.items} step={step} error={queues.error} />
      </div>
    </>
  );
}

function isEmpty({ states, attention }: Overview): boolean {
  return attention.length === 0 && Object.values(states).every(({ count }) => count === 0);
}
