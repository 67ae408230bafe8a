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
  live: { tone: 'good', icon: CircleCheck, meaning: 'Takes jobs and runs them' },
  draining: { tone: 'accent', icon: LogOut, meaning: 'Finishes what it has and takes nothing new' },
  late: { tone: 'warn', icon: HeartPulse, meaning: 'Has not been heard from for a while' },
  lapsed: {
    tone: 'bad',
    icon: HeartCrack,
    meaning: 'Silent for longer than it may be: its jobs are about to run elsewhere',
  },
  ended: { tone: 'grey', icon: CircleSlash, meaning: 'Stopped by itself, with nothing left to do' },
  dead: { tone: 'bad', icon: Skull, meaning: 'Fell silent; its jobs were given to others' },
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
