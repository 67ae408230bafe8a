import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { renderAt } from '@/testing/render';
import { job, problem, serve, WHO } from '@/testing/server';
import { SchedulesPage } from './SchedulesPage';

const NIGHTLY = {
  id: 's1',
  name: 'nightly',
  version: 1,
  state: 'active',
  description: 'At 02:30, in UTC',
  cron: '30 2 * * *',
  next_fire_at: new Date(Date.now() + 600_000).toISOString(),
  last_tick: {
    nominal: '2026-11-15T02:30:00Z',
    at: '2026-11-15T02:30:00Z',
    state: 'fired',
    job: 'j1',
    job_state: 'dead',
  },
  created_at: '2026-11-15T12:00:00Z',
  updated_at: '2026-11-15T12:00:00Z',
  job: { url: 'https://example.com/hook' },
};

const ANSWERS = {
  'GET /whoami': WHO,
  'GET /queues': { items: [], next: null },
  'GET /schedules': { items: [NIGHTLY], next: null },
  'GET /schedules/s1/preview': { description: '', items: [{ at: NIGHTLY.next_fire_at, local: '' }] },
};

test('a schedule says when it fires, what became of it last, and where it lies in time', async () => {
  serve(ANSWERS);
  renderAt(<SchedulesPage />);
  const table = within(await screen.findByRole('table'));
  expect(table.getByRole('link', { name: 'nightly' }).getAttribute('href')).toBe('/schedules/s1');
  expect(table.getByRole('link', { name: /Its job j1, dead/ }).getAttribute('href')).toBe('/jobs/j1');
  expect(table.getAllByText('At 02:30, in UTC').length).toBeGreaterThan(0);
  const strip = screen.getByRole('list', { name: /Fires in the next hour/ });
  await waitFor(() => expect(strip.textContent).toContain('1 fire:'));
});

test('nothing is deleted before it is confirmed', async () => {
  const asked = serve({ ...ANSWERS, 'DELETE /schedules/s1': () => new Response(null, { status: 204 }) });
  renderAt(<SchedulesPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Actions for nightly' }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Delete' }));
  const dialog = await screen.findByRole('dialog');
  await userEvent.click(within(dialog).getByRole('button', { name: 'Cancel' }));
  expect(asked.some(({ method }) => method === 'DELETE')).toBe(false);
  await userEvent.click(screen.getByRole('button', { name: 'Actions for nightly' }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Delete' }));
  await userEvent.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
  await waitFor(() => expect(asked.some(({ method }) => method === 'DELETE')).toBe(true));
});

test('run now leads to the job that it made', async () => {
  const made = job();
  serve({ ...ANSWERS, 'POST /schedules/s1/run': made });
  const { router } = renderAt(<SchedulesPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Actions for nightly' }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Run now' }));
  await userEvent.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Run now' }));
  await userEvent.click(await screen.findByRole('button', { name: 'Open it' }));
  await waitFor(() => expect(router.state.location.pathname).toBe(`/jobs/${made.id}`));
});

test('an empty list says what a schedule is for, and a refusal says why', async () => {
  serve({ ...ANSWERS, 'GET /schedules': { items: [], next: null } });
  const first = renderAt(<SchedulesPage />);
  expect(await screen.findByText('No schedules yet')).toBeDefined();
  first.unmount();
  serve({
    ...ANSWERS,
    'GET /schedules': () => problem(403, 'Not allowed', 'the key lacks schedules:read', 'req-9'),
  });
  renderAt(<SchedulesPage />);
  expect((await screen.findByRole('alert')).textContent).toContain('the key lacks schedules:read');
  expect(screen.getByText('req-9')).toBeDefined();
});
