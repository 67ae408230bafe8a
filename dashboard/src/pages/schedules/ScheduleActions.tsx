import { useNavigate } from '@tanstack/react-router';
import { CirclePause, CirclePlay, EllipsisVertical, Pencil, Play, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Job, Schedule } from '@/api/documents';
import { useChangeSchedule, useSchedule, type ScheduleVerb } from '@/api/schedules';
import { useAllows } from '@/api/session';
import { Button, IconButton } from '@/components/Button';
import { ConfirmDialog } from '@/components/ConfirmDialog';
import { Menu, MenuItem, MenuSeparator } from '@/components/Menu';
import { toast } from '@/components/toasts';
import { EditScheduleDialog } from './ScheduleDialog';

type Open = 'edit' | 'delete' | 'pause' | 'run' | null;

interface ScheduleActionsProps {
  schedule: Schedule;
  /** All as buttons, where there is room. */
  spread?: boolean;
  onDeleted?: () => void;
}

/** What can be done to a schedule. Whatever makes jobs or stops them is asked for once more. */
export function ScheduleActions({ schedule, spread = false, onDeleted }: ScheduleActionsProps) {
  const [open, setOpen] = useState<Open>(null);
  const may = useAllows('schedules:write');
  const change = useChangeSchedule();
  const navigate = useNavigate();
  if (!may) return null;
  const isPaused = schedule.state === 'paused';
  const close = () => {
    setOpen(null);
    change.reset();
  };
  const act = (verb: ScheduleVerb, done: (answer: unknown) => void) =>
    change.mutate(
      { verb, schedule: schedule.id },
      {
        onSuccess: (answer) => {
          setOpen(null);
          done(answer);
        },
        ...(verb === 'resume'
          ? { onError: (error: unknown) => toast.failed(`${schedule.name} is still paused`, error) }
          : {}),
      },
    );
  const resume = () => act('resume', () => toast.done(`${schedule.name} resumed`));
  const ran = (answer: unknown) => {
    const job = answer as Job;
    toast.done(`${schedule.name} created a job`, undefined, {
      label: 'Open it',
      run: () => void navigate({ to: '/jobs/$id', params: { id: job.id } }),
    });
  };
  return (
    <>
      {spread ? (
        <>
          <Button icon={Play} onClick={() => setOpen('run')}>
            Run now
          </Button>
          {schedule.state !== 'finished' &&
            (isPaused ? (
              <Button icon={CirclePlay} busy={change.isPending} onClick={resume}>
                Resume
              </Button>
            ) : (
              <Button icon={CirclePause} onClick={() => setOpen('pause')}>
                Pause
              </Button>
            ))}
          <Button icon={Pencil} onClick={() => setOpen('edit')}>
            Edit
          </Button>
          <Button icon={Trash2} onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </>
      ) : (
        <Menu trigger={<IconButton label={`Actions for ${schedule.name}`} icon={EllipsisVertical} />}>
          <MenuItem icon={Play} onSelect={() => setOpen('run')}>
            Run now
          </MenuItem>
          {schedule.state !== 'finished' &&
            (isPaused ? (
              <MenuItem icon={CirclePlay} onSelect={resume}>
                Resume
              </MenuItem>
            ) : (
              <MenuItem icon={CirclePause} onSelect={() => setOpen('pause')}>
                Pause
              </MenuItem>
            ))}
          <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
            Edit
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={() => setOpen('delete')}>
            Delete
          </MenuItem>
        </Menu>
      )}
      <ConfirmDialog
        open={open === 'run'}
        onClose={close}
        onConfirm={() => act('run', ran)}
        title={`Run ${schedule.name} now?`}
        confirm="Run now"
        busy={change.isPending}
        error={change.error}
      >
        <p>Creates one job immediately. The schedule itself is unchanged.</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={open === 'pause'}
        onClose={close}
        onConfirm={() => act('pause', () => toast.done(`${schedule.name} paused`))}
        title={`Pause ${schedule.name}?`}
        confirm="Pause"
        busy={change.isPending}
        error={change.error}
      >
        <p>
          It does not fire until it is resumed, and missed fires are not made up for. Running jobs continue.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={open === 'delete'}
        onClose={close}
        onConfirm={() =>
          act('delete', () => {
            toast.done(`${schedule.name} deleted`);
            onDeleted?.();
          })
        }
        title={`Delete ${schedule.name}?`}
        confirm="Delete"
        danger
        busy={change.isPending}
        error={change.error}
      >
        <p>It no longer fires. Its jobs are kept, and its history is kept for a while.</p>
      </ConfirmDialog>
      {open === 'edit' && <Edit schedule={schedule.id} onClose={close} />}
    </>
  );
}

/** Read whole first: an edit has to show which version it is about. */
function Edit({ schedule, onClose }: { schedule: string; onClose: () => void }) {
  const current = useSchedule(schedule).data;
  return current === undefined ? null : <EditScheduleDialog current={current} onClose={onClose} />;
}
