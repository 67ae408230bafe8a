import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isFinal, type BulkAnswer, type Job, type JobFilter } from '@/api/documents';
import { changeJob, changeMatching, type JobVerb } from '@/api/jobs';
import { keys } from '@/api/keys';
import { ApiError, isStatus } from '@/api/problem';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { plural } from '@/components/numbers';
import { Skeleton } from '@/components/Skeleton';
import { toast } from '@/components/toasts';

export interface Bulk {
  verb: JobVerb;
  /** Some, by name; or whatever matches when it is done. */
  of: { jobs: Job[] } | { filter: JobFilter };
}

interface BulkDialogProps {
  bulk: Bulk;
  onClose: () => void;
  onDone: () => void;
}

const WORDS: Record<JobVerb, { title: string; button: string; done: string; effect: string }> = {
  retry: {
    title: 'Retry these jobs?',
    button: 'Retry',
    done: 'retried',
    effect: 'They go back to their queues with all their attempts and keep their ids.',
  },
  cancel: {
    title: 'Cancel these jobs?',
    button: 'Cancel',
    done: 'cancelled',
    effect: 'Waiting jobs never start; running jobs are stopped.',
  },
  delete: {
    title: 'Delete these jobs?',
    button: 'Delete',
    done: 'deleted',
    effect: 'The jobs and their history are deleted permanently.',
  },
};

/** Asks the server how many before anything is done. */
export function BulkDialog({ bulk, onClose, onDone }: BulkDialogProps) {
  const { verb, of } = bulk;
  const words = WORDS[verb];
  const cache = useQueryClient();
  const [progress, setProgress] = useState(0);
  const preview = useQuery({
    queryKey: ['bulk', verb, 'filter' in of ? of.filter : of.jobs.map(({ id }) => id)],
    queryFn: async (): Promise<BulkAnswer> =>
      'filter' in of
        ? changeMatching(verb, of.filter, true)
        : { matched: eligible(verb, of.jobs).length, changed: 0, skipped: 0 },
    gcTime: 0,
    staleTime: 0,
  });
  const run = useMutation({
    mutationFn: () =>
      'filter' in of
        ? changeMatching(verb, of.filter, false)
        : changeEach(verb, eligible(verb, of.jobs), setProgress),
    onSuccess: (answer) => {
      toast.done(`${plural(answer.changed, 'job')} ${words.done}`, unchanged(answer));
      onDone();
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: keys.jobs.all }),
        cache.invalidateQueries({ queryKey: keys.failures.all }),
        cache.invalidateQueries({ queryKey: keys.overview }),
      ]),
  });
  const matched = preview.data?.matched;
  const left = 'jobs' in of && matched !== undefined ? of.jobs.length - matched : 0;
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => run.mutate()}
      title={words.title}
      confirm={matched === undefined ? words.button : `${words.button} ${plural(matched, 'job')}`}
      {...(verb === 'cancel' ? { dismiss: 'Keep the jobs' } : {})}
      danger={verb !== 'retry'}
      busy={run.isPending}
      disabled={matched === undefined || matched === 0}
      error={run.error ?? preview.error}
    >
      {matched === undefined ? (
        preview.error === null && (
          <div role="status" aria-label="Counting">
            <Skeleton className="h-5 w-48" />
          </div>
        )
      ) : (
        <p className="text-ink">
          {matched === 0 ? (
            'This applies to none of the jobs.'
          ) : (
            <>
              <strong className="font-semibold">{plural(matched, 'job')}</strong> will be {words.done}.{' '}
              {words.effect}
            </>
          )}
        </p>
      )}
      {left > 0 && (
        <p>
          {plural(left, 'selected job')} cannot be {words.done} in its current state and will be skipped.
        </p>
      )}
      {'filter' in of && <FilterWords verb={verb} filter={of.filter} />}
      {run.isPending && 'jobs' in of && (
        <p role="status">
          {progress} of {matched} done
        </p>
      )}
    </ConfirmDialog>
  );
}

/** What became of the jobs that were not changed. */
function unchanged({ matched, changed, skipped = 0 }: BulkAnswer): string | undefined {
  const moved = matched - changed - skipped;
  const said = [
    skipped > 0 && `${plural(skipped, 'command')} skipped: your key cannot run commands here.`,
    moved > 0 && `${plural(moved, 'job')} changed state meanwhile.`,
  ].filter((text) => text !== false);
  return said.length === 0 ? undefined : said.join(' ');
}

function FilterWords({ verb, filter }: { verb: JobVerb; filter: JobFilter }) {
  const said = Object.entries(filter).filter(([, value]) => typeof value === 'string' && value !== '');
  const ofState =
    filter.state === undefined
      ? { retry: 'dead jobs', cancel: 'jobs that have not ended', delete: 'jobs that have ended' }[verb]
      : `${filter.state} jobs`;
  const rest = said.filter(([name]) => name !== 'state');
  return (
    <p>
      All {ofState}
      {rest.length > 0 && ' with '}
      {rest.map(([name, value], at) => (
        <span key={name}>
          {at > 0 && ', '}
          {name.replaceAll('_', ' ')} <code className="font-mono text-ink">{String(value)}</code>
        </span>
      ))}
      , including those on other pages.
    </p>
  );
}

export function eligible(verb: JobVerb, jobs: Job[]): Job[] {
  return jobs.filter((job) => isFinal(job.state) === (verb !== 'cancel'));
}

const AT_ONCE = 5;

function mayNotRunCommands(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status !== 403) return false;
  return error.problem?.scope === 'exec:command' || error.problem?.type === '/errors/commands-disabled';
}

/** A few at a time. One that has moved on meanwhile, or that this key may not run again, is not an error; anything else stops it. */
async function changeEach(
  verb: JobVerb,
  jobs: Job[],
  onProgress: (done: number) => void,
): Promise<BulkAnswer> {
  let changed = 0;
  let skipped = 0;
  let done = 0;
  const left = [...jobs];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      try {
        await changeJob(verb, job.id);
        changed += 1;
      } catch (error) {
        if (verb === 'retry' && mayNotRunCommands(error)) skipped += 1;
        else if (!isStatus(error, 404, 409)) throw error;
      }
      done += 1;
      onProgress(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { changed, matched: jobs.length, skipped };
}
