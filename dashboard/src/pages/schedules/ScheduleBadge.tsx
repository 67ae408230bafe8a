import { CircleCheck, CirclePause, CirclePlay, type LucideIcon } from 'lucide-react';
import type { Schedule, Tick } from '@/api/documents';
import { Badge, type Tone } from '@/components/Badge';
import { tickLook } from './words';

const LOOKS: Record<Schedule['state'], { tone: Tone; icon: LucideIcon; meaning: string }> = {
  active: { tone: 'good', icon: CirclePlay, meaning: 'Fires on schedule' },
  paused: {
    tone: 'warn',
    icon: CirclePause,
    meaning: 'Does not fire, and does not make up for missed fires later',
  },
  finished: { tone: 'grey', icon: CircleCheck, meaning: 'Has no further fires' },
};

export function ScheduleBadge({ state }: { state: Schedule['state'] }) {
  const { tone, icon, meaning } = LOOKS[state];
  return (
    <Badge tone={tone} icon={icon} title={meaning}>
      {state}
    </Badge>
  );
}

export function TickBadge({ tick }: { tick: Tick }) {
  const { tone, said } = tickLook(tick);
  return (
    <Badge tone={tone} title={said}>
      {tick.state}
    </Badge>
  );
}
