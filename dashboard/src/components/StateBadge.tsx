import {
  Ban,
  CalendarClock,
  CircleCheck,
  CircleX,
  Hourglass,
  LoaderCircle,
  RotateCw,
  Skull,
  type LucideIcon,
} from 'lucide-react';
import type { State } from '@/api/documents';
import { Badge, type Tone } from './Badge';

interface Look {
  tone: Tone;
  icon: LucideIcon;
  meaning: string;
}

/** Every state has its own icon and its own word, for those who tell no colours apart. */
export const STATE_LOOKS: Record<State, Look> = {
  scheduled: { tone: 'violet', icon: CalendarClock, meaning: 'Waiting for its time' },
  pending: { tone: 'grey', icon: Hourglass, meaning: 'Due, waiting for a free worker' },
  running: { tone: 'accent', icon: LoaderCircle, meaning: 'A worker is running it' },
  retrying: { tone: 'warn', icon: RotateCw, meaning: 'Failed, will be retried' },
  completed: { tone: 'good', icon: CircleCheck, meaning: 'Done' },
  failed: { tone: 'orange', icon: CircleX, meaning: 'Failed with an error that a retry cannot fix' },
  dead: { tone: 'bad', icon: Skull, meaning: 'All attempts used up; kept until you retry or delete it' },
  cancelled: { tone: 'grey', icon: Ban, meaning: 'Cancelled by a user or a client' },
};

export function StateBadge({ state }: { state: State }) {
  const look = STATE_LOOKS[state];
  return (
    <Badge tone={look.tone} icon={look.icon} spin={state === 'running'} title={look.meaning}>
      {state}
    </Badge>
  );
}
