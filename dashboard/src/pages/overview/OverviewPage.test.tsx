import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { renderAt } from '@/testing/render';
import { OVERVIEW, problem, serve, WHO } from '@/testing/server';
import { OverviewPage } from './OverviewPage';
import { readOverviewSearch } from './search';

// There is no canvas here to draw on; the words beside the charts are what is looked at.
vi.mock('@/components/ChartCanvas', () => ({ default: () => null }));

const NONE = { submitted: 0, started: 0, completed: 0, failed: 0, dead: 0, cancelled: 0, retried: 0 };

function show(overview: unknown, at = '/') {
  const asked = serve({
    'GET /whoami': WHO,
    'GET /overview': overview,
    'GET /statistics': {
      step: 'minute',
      from: '2026-11-15T12:00:00Z',
      to: '2026-11-15T12:02:00Z',
      items: [{ at: '2026-11-15T12:01:00Z', ...NONE, completed: 9, dead: 1 }],
    },
    'GET /statistics/queues': { items: [{ queue: 'mail', ...NONE, completed: 9 }] },
  });
  return { asked, ...renderAt(<OverviewPage />, { path: '/', at, validateSearch: readOverviewSearch }) };
}

const BUSY = {
  ...OVERVIEW,
  states: { dead: { count: 10_000, estimate: true }, pending: { count: 3, estimate: false } },
  oldest_waiting: { queue: 'mail', age: '3m12s' },
  workers: { live: 2, draining: 1, dead: 0, slots: 64, running: 5 },
  attention: [
    { kind: 'paused-queue', count: 1, estimate: false, subject: 'mail', detail: 'The queue mail is paused.' },
  ],
};

describe('the overview', () => {
  it('says how things stand', async () => {
    show(BUSY);
    expect(await screen.findByText('3m 12s')).toBeTruthy();
    expect(await screen.findByText('10 %')).toBeTruthy();
    expect(screen.getByText(/5 of 64 slots busy, 1 draining/)).toBeTruthy();
    const states = screen.getByRole('navigation', { name: 'Jobs by state' });
    expect(within(states).getByRole('link', { name: /dead/ }).getAttribute('href')).toBe('/jobs?state=dead');
    expect(states.textContent).toContain('10,000+');
  });

  it('leads to what needs attention', async () => {
    show(BUSY);
    const link = await screen.findByRole('link', { name: /The queue mail is paused/ });
    expect(link.getAttribute('href')).toBe('/queues');
  });

  it('tells in words what its charts show', async () => {
    show(BUSY);
    const chart = await screen.findByRole('figure', { name: 'Throughput' });
    expect(chart.textContent).toContain('completed: 9 in all');
  });

  it('keeps the chosen span and queue in the URL', async () => {
    const { asked, router } = show(BUSY);
    await userEvent.click(await screen.findByRole('button', { name: 'By hour' }));
    await vi.waitFor(() => expect(asked.some(({ query }) => query.get('step') === 'hour')).toBe(true));
    await userEvent.selectOptions(screen.getByLabelText('Queue'), 'mail');
    await vi.waitFor(() => expect(router.state.location.search).toEqual({ step: 'hour', queue: 'mail' }));
  });

  it('shows how to begin when nothing has happened yet', async () => {
    show(OVERVIEW);
    expect(await screen.findByText('Ready for the first job')).toBeTruthy();
  });

  it('says why when it cannot be read', async () => {
    show(() => problem(503, 'Unavailable', 'the store is away', 'req-8'));
    expect((await screen.findByRole('alert')).textContent).toMatch(/store is away.*req-8/);
  });
});
