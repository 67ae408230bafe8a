import {
  CircleCheck,
  CircleSlash,
  HeartCrack,
  HeartPulse,
  LogOut,
  Skull,
  type LucideIcon,
} from 'lucide-react';
import type { Worker } from '@/api/documents';
import { Badge, type Tone } from '@/components/Badge';
import { health, type Health } from './health';

const LOOKS: Record<Health, { tone: Tone; icon: LucideIcon; meaning: string }> = {
  live: { tone: 'good', icon: CircleCheck, meaning: 'Accepts and runs jobs' },
  draining: { tone: 'accent', icon: LogOut, meaning: 'Finishes its jobs and accepts no new ones' },
  late: { tone: 'warn', icon: HeartPulse, meaning: 'Has not sent a heartbeat for a while' },
  lapsed: {
    tone: 'bad',
    icon: HeartCrack,
    meaning: 'Missed its heartbeats for too long: its jobs will be run elsewhere',
  },
  ended: { tone: 'grey', icon: CircleSlash, meaning: 'Stopped cleanly, with no jobs left' },
  dead: {
    tone: 'bad',
    icon: Skull,
    meaning: 'Stopped sending heartbeats; its jobs were given to other workers',
  },
};

/** `at` is the server's time when it told of the worker. */
export function WorkerBadge({ worker, at }: { worker: Worker; at: number }) {
  const state = health(worker, at);
  const { tone, icon, meaning } = LOOKS[state];
  return (
    <Badge tone={tone} icon={icon} title={meaning}>
      {state}
    </Badge>
  );
}
