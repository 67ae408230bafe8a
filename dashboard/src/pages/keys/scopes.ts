// What a key may do, in words.
import type { Scope } from '@/api/documents';

export interface ScopeWords {
  scope: Scope;
  says: string;
  /** Worth a second thought. */
  strong?: boolean;
}

export const SCOPES: ScopeWords[] = [
  { scope: 'jobs:read', says: 'See jobs, queues, webhooks and statistics' },
  { scope: 'jobs:write', says: 'Submit, retry, cancel and delete jobs; pause queues; change webhooks' },
  { scope: 'schedules:read', says: 'See schedules' },
  { scope: 'schedules:write', says: 'Create, edit, pause, run and delete schedules' },
  { scope: 'stream:read', says: 'Receive the live event stream, which the dashboard needs for live updates' },
  { scope: 'workers', says: 'Reserved for workers that connect over the API; no effect in this version' },
  { scope: 'exec:command', says: 'Submit jobs that run programs on the workers', strong: true },
  { scope: 'admin', says: 'Everything, for every tenant: keys, tenants, workers', strong: true },
];

export interface Preset {
  name: string;
  scopes: Scope[];
}

/** Whoever may see jobs may follow them too: the dashboard is not live without. */
const SUBMITS: Preset = {
  name: 'Service that submits jobs',
  scopes: ['jobs:read', 'jobs:write', 'stream:read'],
};

export const DEFAULT_SCOPES = SUBMITS.scopes;

export const PRESETS: Preset[] = [
  SUBMITS,
  {
    name: 'Dashboard user',
    scopes: ['jobs:read', 'jobs:write', 'schedules:read', 'schedules:write', 'stream:read'],
  },
  { name: 'Read only', scopes: ['jobs:read', 'schedules:read', 'stream:read'] },
];

/** In the order in which they are listed, whatever the order of the clicks. */
export function inOrder(chosen: Iterable<Scope>): Scope[] {
  const set = new Set(chosen);
  return SCOPES.map(({ scope }) => scope).filter((scope) => set.has(scope));
}
