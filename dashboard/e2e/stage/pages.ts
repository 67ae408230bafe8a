// Every page there is, in the order of the navigation. The checks that hold for all of them, and the pictures, go through this.

import type { Page } from 'playwright-core';
import type { Foreman } from './foreman';
import { expect } from 'vitest';
import { LONG, until } from './until';

export interface Place {
  /** Of its picture. */
  name: string;
  /** Where it is; some need something that is there. */
  path: (foreman: Foreman) => Promise<string>;
  /** Its own heading, by which one sees that it has come. */
  heading: RegExp;
  /** Waits until the demo has something for it. */
  ready?: (foreman: Foreman) => Promise<unknown>;
}

interface List {
  items: { id: string; state?: string }[];
}

async function first(foreman: Foreman, path: string): Promise<string> {
  const { items } = await foreman.api.get<List>(path);
  const [item] = items;
  if (item === undefined) throw new Error(`there is nothing in ${path}`);
  return item.id;
}

/** The demo fills itself in its own time. */
function comes(path: string): (foreman: Foreman) => Promise<unknown> {
  return (foreman) => until(`the demo has something in ${path}`, () => first(foreman, path));
}

/** Charts begin when the demo begins, with its first jobs. */
function charts(foreman: Foreman): Promise<unknown> {
  return until('the demo has something in its charts', async () => {
    const { items } = await foreman.api.get<List>('/statistics');
    return items.length > 0;
  });
}

export const PLACES: Place[] = [
  { name: 'overview', path: async () => '/', heading: /overview/i, ready: charts },
  { name: 'jobs', path: async () => '/jobs', heading: /^jobs/i },
  {
    name: 'job',
    path: async (foreman) => `/jobs/${await first(foreman, '/dead?limit=1')}`,
    heading: /./,
    ready: comes('/dead?limit=1'),
  },
  { name: 'dead', path: async () => '/dead', heading: /dead/i },
  { name: 'schedules', path: async () => '/schedules', heading: /^schedules/i },
  {
    name: 'schedule',
    path: async (foreman) => `/schedules/${await first(foreman, '/schedules?limit=1')}`,
    heading: /./,
    ready: comes('/schedules?limit=1'),
  },
  { name: 'queues', path: async () => '/queues', heading: /^queues/i },
  { name: 'workers', path: async () => '/workers', heading: /^workers/i },
  { name: 'webhooks', path: async () => '/webhooks', heading: /^webhooks/i },
  {
    name: 'webhook',
    path: async (foreman) => `/webhooks/${await first(foreman, '/webhooks?limit=1')}`,
    heading: /./,
    ready: comes('/webhooks?limit=1'),
  },
  {
    name: 'keys',
    path: async () => '/keys',
    heading: /keys/i,
    // The demo makes none: a key that nobody asked for is a door.
    ready: (foreman) =>
      Promise.all([
        foreman.api.post('/tenants/default/keys', { name: 'web shop', scopes: ['jobs:write'] }),
        foreman.api.post('/tenants/default/keys', {
          name: 'on-call',
          scopes: ['jobs:*', 'stream:read'],
          expires_in: '720h',
        }),
      ]),
  },
  { name: 'submit', path: async () => '/submit', heading: /submit/i },
];

/** Waits until a page has come, is live, and shows what it has rather than the places where that will be. */
export async function settled(page: Page, place: Place): Promise<void> {
  await page.getByRole('heading', { level: 1, name: place.heading }).waitFor();
  await page.getByText('Live', { exact: true }).filter({ visible: true }).waitFor();
  // The bars that stand for what is on its way are hidden from those who do not see, so they have no name to find them by.
  await expect.poll(() => page.locator('.animate-breathe').count(), { timeout: LONG }).toBe(0);
}
