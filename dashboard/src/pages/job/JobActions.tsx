import { useNavigate } from '@tanstack/react-router';
import { Ban, PenLine, RotateCw, Terminal, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { isFinal, type Job } from '@/api/documents';
import { useChangeJob, type JobVerb } from '@/api/jobs';
import { useAllows, useWhoami } from '@/api/session';
import { chosenTenant } from '@/api/tenant';
import { Button } from '@/components/Button';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { copyText } from '@/components/CopyButton';
import { toast } from '@/components/toasts';
import { draftOf } from '@/pages/submit/draft';
import { runAgain } from '@/pages/submit/handover';
import { curlLine } from '@/pages/submit/shell';
import { writtenOf } from '@/pages/submit/spec';

const DONE: Record<JobVerb, string> = {
  retry: 'Retrying the job',
  cancel: 'Job cancelled',
  delete: 'Job deleted',
};

export function JobActions({ job }: { job: Job }) {
  const navigate = useNavigate();
  const canWrite = useAllows('jobs:write');
  const needsKey = useWhoami().data?.key !== null;
  const change = useChangeJob();
  const [asked, setAsked] = useState<JobVerb | null>(null);
  const isOver = isFinal(job.state);

  const act = (verb: JobVerb) =>
    change.mutate(
      { verb, id: job.id },
      {
        onSuccess: () => {
          setAsked(null);
          toast.done(DONE[verb]);
          if (verb === 'delete') void navigate({ to: '/jobs' });
        },
        onError: (error) => {
          if (asked === null) toast.failed('The job was not changed', error);
        },
      },
    );
  const copy = () => {
    const line = curlLine(writtenOf(draftOf(job)), {
      origin: location.origin,
      needsKey,
      tenant: chosenTenant(),
    });
    copyText(line).then(
      () =>
        toast.done(
          'Copied as curl',
          line.includes('***')
            ? 'Hidden values are shown as ***; fill them in before you run it.'
            : undefined,
        ),
      (error: unknown) => toast.failed('Could not copy', error),
    );
  };

  return (
    <>
      {canWrite && isOver && (
        <Button
          variant={job.state === 'completed' ? 'secondary' : 'primary'}
          icon={RotateCw}
          busy={change.isPending && asked === null}
          onClick={() => (job.state === 'completed' ? setAsked('retry') : act('retry'))}
        >
          Retry
        </Button>
      )}
      {canWrite && !isOver && (
        <Button icon={Ban} onClick={() => setAsked('cancel')}>
          Cancel
        </Button>
      )}
      {canWrite && (
        <Button icon={PenLine} onClick={() => void navigate({ to: '/submit', state: runAgain(job) })}>
          Edit and run again
        </Button>
      )}
      <Button icon={Terminal} onClick={copy}>
        Copy as curl
      </Button>
      {canWrite && isOver && (
        <Button icon={Trash2} onClick={() => setAsked('delete')}>
          Delete
        </Button>
      )}
      <ConfirmDialog
        open={asked === 'retry'}
        onClose={() => setAsked(null)}
        onConfirm={() => act('retry')}
        title="Run this job again?"
        confirm="Retry"
        busy={change.isPending}
        error={change.error}
      >
        <p>It has already completed. Its work will be done a second time.</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'cancel'}
        onClose={() => setAsked(null)}
        onConfirm={() => act('cancel')}
        title="Cancel this job?"
        confirm="Cancel the job"
        dismiss="Keep the job"
        danger
        busy={change.isPending}
        error={change.error}
      >
        <p>
          {job.state === 'running' ? 'The running attempt is stopped.' : 'It will not start.'} It can be
          retried later.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'delete'}
        onClose={() => setAsked(null)}
        onConfirm={() => act('delete')}
        title="Delete this job?"
        confirm="Delete the job"
        danger
        busy={change.isPending}
        error={change.error}
      >
        <p>The job and its history are deleted permanently.</p>
      </ConfirmDialog>
    </>
  );
}
