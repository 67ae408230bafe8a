import { render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import type { Worker } from '@/api/documents';
import { renderAt } from '@/testing/render';
import { serve, WHO } from '@/testing/server';
import { health } from './health';
import { SlotsBar } from './SlotsBar';
import { WorkersPage } from './WorkersPage';

function worker(part: Partial<Worker> = {}): Worker {
  return {
    id: '01a1e179-0df0-75fd-9adf-94fcde141a71',
    worker: 'box-1',
    pid: 42,
    version: '0.1.0',
    state: 'live',
    slots: 32,
    running: 8,
    queues: [],
    started_at: new Date(Date.now() - 60_000).toISOString(),
    heartbeat_at: new Date().toISOString(),
    ...part,
  };
}

test.each([
  [8, 32, '25%', '8 of 32 slots in use'],
  [0, 32, '0%', '0 of 32 slots in use'],
  [32, 32, '100%', '32 of 32 slots in use'],
  [40, 32, '100%', '40 of 32 slots in use'],
  [0, 0, '0%', '0 of 0 slots in use'],
])('%i of %i slots fill the bar to %s', (running, slots, width, said) => {
  render(<SlotsBar running={running} slots={slots} />);
  const bar = screen.getByRole('meter', { name: 'Slots in use' });
  expect(bar.getAttribute('aria-valuetext')).toBe(said);
  expect((bar.firstElementChild as HTMLElement).style.width).toBe(width);
  expect(Number(bar.getAttribute('aria-valuenow'))).toBeLessThanOrEqual(slots);
});

test.each([
  [2_000, 'live', 'live'],
  [11_000, 'live', 'late'],
  [16_000, 'live', 'lapsed'],
  [16_000, 'draining', 'lapsed'],
  [2_000, 'draining', 'draining'],
  [3_600_000, 'ended', 'ended'],
  [3_600_000, 'dead', 'dead'],
] as const)('silent for %i ms, a %s worker is %s', (silent, state, expected) => {
  const now = Date.now();
  expect(health(worker({ state, heartbeat_at: new Date(now - silent).toISOString() }), now)).toBe(expected);
});

test('a worker is opened to what it runs, and the dead stand below', async () => {
  serve({
    'GET /whoami': WHO,
    'GET /workers': {
      items: [
        worker({ id: 'gone', worker: 'box-0', state: 'dead' }),
        worker({ id: 'first', worker: 'box-1' }),
        worker({ id: 'second', worker: 'box-2' }),
      ],
      next: null,
    },
    'GET /workers/first/jobs': { items: [], next: null },
    'GET /workers/second/jobs': {
      items: [
        {
          id: 'job-7',
          tenant: 'acme',
          queue: 'mail',
          kind: 'welcome',
          attempt: 2,
          started_at: new Date().toISOString(),
        },
      ],
      next: null,
    },
  });
  renderAt(<WorkersPage />);
  const gone = within(await screen.findByRole('table', { name: 'Offline workers' }));
  expect(gone.getByText('box-0')).toBeDefined();
  expect(gone.getByText('dead')).toBeDefined();
  await userEvent.click(screen.getByRole('button', { name: /box-2/ }));
  const jobs = await screen.findByRole('list', { name: 'Running jobs' });
  expect(within(jobs).getByRole('link', { name: 'job-7' }).getAttribute('href')).toBe('/jobs/job-7');
  expect(jobs.textContent).toContain('of acme');
});

test('who is no operator is told why there is nothing to see', async () => {
  const asked = serve({ 'GET /whoami': { ...WHO, scopes: ['jobs:read'] } });
  renderAt(<WorkersPage />);
  expect(await screen.findByText('Workers are for operators')).toBeDefined();
  expect(asked.some(({ path }) => path === '/workers')).toBe(false);
});

test("whether a worker is late is judged by the server's clock, not by the browser's", async () => {
  const hour = 3_600_000;
  serve({
    'GET /whoami': WHO,
    'GET /workers': () =>
      Response.json(
        { items: [worker({ heartbeat_at: new Date(Date.now() - hour).toISOString() })], next: null },
        { headers: { Date: new Date(Date.now() - hour + 2_000).toUTCString() } },
      ),
  });
  renderAt(<WorkersPage />);
  expect(await screen.findByText('live')).toBeDefined();
});
