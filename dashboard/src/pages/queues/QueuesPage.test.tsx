import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { renderAt } from '@/testing/render';
import { serve, WHO } from '@/testing/server';
import { byAttention, rateText } from './attention';
import { QueuesPage } from './QueuesPage';

function queue(name: string, part: object = {}) {
  return {
    name,
    paused: false,
    scheduled: 0,
    pending: 0,
    retrying: 0,
    running: 0,
    rate: 0,
    oldest_age: null as string | null,
    ...part,
  };
}

test('what needs attention stands on top', () => {
  const sorted = byAttention([
    queue('idle'),
    queue('busy', { running: 9, rate: 3 }),
    queue('late', { pending: 1, oldest_age: '5m' }),
    queue('later', { pending: 1, oldest_age: '1h2m' }),
    queue('quick', { pending: 2, oldest_age: '300ms' }),
    queue('empty-and-paused', { paused: true }),
    queue('held', { paused: true, pending: 3 }),
  ]);
  expect(sorted.map(({ name }) => name)).toEqual([
    'held',
    'empty-and-paused',
    'later',
    'late',
    'busy',
    'quick',
    'idle',
  ]);
});

test.each([
  [0, '0/min'],
  [1 / 60, '1/min'],
  [0.5, '30/min'],
  [2.25, '2.3/s'],
  [140.2, '140/s'],
])('%d jobs per second are %s', (rate, text) => {
  expect(rateText(rate)).toBe(text);
});

const STATISTICS = { step: 'minute', from: '2026-11-15T11:00:00Z', to: '2026-11-15T12:00:00Z', items: [] };

test('a queue is paused only after it is confirmed, and resumed at once', async () => {
  let paused = false;
  const asked = serve({
    'GET /whoami': WHO,
    'GET /statistics': STATISTICS,
    'GET /queues': () => ({ items: [queue('letters', { paused, pending: 4, running: 2 })], next: null }),
    'POST /queues/letters/pause': () => {
      paused = true;
      return {};
    },
    'POST /queues/letters/resume': () => {
      paused = false;
      return {};
    },
  });
  renderAt(<QueuesPage />);
  const verbs = () => asked.filter(({ method }) => method === 'POST').map(({ path }) => path);
  await userEvent.click(await screen.findByRole('button', { name: 'Pause letters' }));
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent).toContain('2 running jobs will finish');
  expect(dialog.textContent).toContain('4 jobs that would start soon will wait');
  expect(verbs()).toEqual([]);
  await userEvent.click(within(dialog).getByRole('button', { name: 'Pause' }));
  expect(await screen.findByText('paused')).toBeDefined();
  expect(verbs()).toEqual(['/queues/letters/pause']);
  await userEvent.click(await screen.findByRole('button', { name: 'Resume letters' }));
  await waitFor(() => expect(screen.queryByText('paused')).toBeNull());
  expect(verbs()).toEqual(['/queues/letters/pause', '/queues/letters/resume']);
});

test('a number leads to the jobs that it counts', async () => {
  serve({
    'GET /whoami': { ...WHO, scopes: ['jobs:read'] },
    'GET /statistics': STATISTICS,
    'GET /queues': { items: [queue('letters', { retrying: 7 })], next: null },
  });
  renderAt(<QueuesPage />);
  const link = await screen.findByRole('link', { name: '7' });
  expect(link.getAttribute('href')).toBe('/jobs?queue=letters&state=retrying');
  // Who may not pause is offered no button for it.
  expect(screen.queryByRole('button', { name: /pause/i })).toBeNull();
});
