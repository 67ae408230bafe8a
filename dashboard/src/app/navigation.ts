// The pages that have a place in the menu.
import {
  CalendarClock,
  Cpu,
  KeyRound,
  Layers,
  LayoutDashboard,
  Rows3,
  Skull,
  Webhook,
  type LucideIcon,
} from 'lucide-react';

export interface Place {
  to: '/' | '/jobs' | '/dead' | '/schedules' | '/queues' | '/workers' | '/webhooks' | '/keys';
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
  /** Only for those who see every tenant. */
  operators?: boolean;
}

export const PLACES: Place[] = [
  { to: '/', label: 'Overview', icon: LayoutDashboard, key: 'o' },
  { to: '/jobs', label: 'Jobs', icon: Rows3, key: 'j' },
  { to: '/dead', label: 'Dead letters', icon: Skull, key: 'd' },
  { to: '/schedules', label: 'Schedules', icon: CalendarClock, key: 's' },
  { to: '/queues', label: 'Queues', icon: Layers, key: 'q' },
  { to: '/workers', label: 'Workers', icon: Cpu, key: 'w', operators: true },
  { to: '/webhooks', label: 'Webhooks', icon: Webhook, key: 'h' },
  { to: '/keys', label: 'Keys', icon: KeyRound, key: 'k', operators: true },
];
