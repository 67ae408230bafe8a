import { cleanup, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { renderAt } from '@/testing/render';
import { job, OVERVIEW, serve, WHO, type Asked } from '@/testing/server';
import { DeadPage } from './DeadPage';
import { readDeadSearch } from './search';

function group(fields: object) {
  return {
    group: '00ff00ff00ff00ff',
    error: 'example.com answered 500',
    count: 10_000,
    estimate: true,
    first_at: '2026-11-15T11:00:00Z',
    last_at: '2026-11-15T12:00:00Z',
    kind: 'invoice',
    queue: 'mail',
    job: 'x',
    state: 'dead',
    ...fields,
  };
}

function show(groups: object[], complete = true, at = '/dead') {
  const asked = serve({
    'GET /whoami': WHO,
    'GET /overview': {
      ...OVERVIEW,
      states: {
        failed: { count: 3, estimate: false },
        dead: { count: 12_000, estimate: false },
      },
    },
    'GET /errors/groups': ({ query }: Asked) => ({
      items: groups.filter((each) => [null, (each as { state: string }).state].includes(query.get('state'))),
      next: null,
      complete,
    }),
    'GET /jobs': () => ({ items: [job({ state: 'dead', kind: 'one of them' })], next: null }),
    'POST /jobs/retry': ({ body }: Asked) => ({
      matched: 12_000,
      changed: (body as { dry_run: boolean }).dry_run ? 0 : 12_000,
    }),
  });
  renderAt(<DeadPage />, { path: '/dead', at, validateSearch: readDeadSearch });
  return asked;
}

describe('dead letters', () => {
  it('are one line for ten thousand, opened to its jobs', async () => {
    const asked = show([group({})]);
    const line = await screen.findByRole('button', { name: /answered 500/ });
    expect(line.textContent).toContain('10,000+');
    await userEvent.click(line);
    await screen.findByText('one of them');
    const list = asked.find(({ path }) => path === '/jobs');
    expect([list?.query.get('state'), list?.query.get('error_group')]).toEqual(['dead', '00ff00ff00ff00ff']);
  });

  it('are retried as a group after they were counted', async () => {
    const asked = show([group({})]);
    await userEvent.click(await screen.findByRole('button', { name: /Retry all/ }));
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 12,000 jobs' }));
    await screen.findByText('12,000 jobs retried');
    expect(asked.filter(({ method }) => method === 'POST').map(({ body }) => body)).toEqual([
      { filter: { state: 'dead', error_group: '00ff00ff00ff00ff' }, dry_run: true },
      { filter: { state: 'dead', error_group: '00ff00ff00ff00ff' }, dry_run: false },
    ]);
  });

  it('without a group are never retried together, for that would mean all', async () => {
    show([group({ group: null, error: null })]);
    await screen.findByText('No error was recorded');
    expect(screen.queryByRole('button', { name: /Retry all/ })).toBeNull();
  });

  it('say that there are more kinds of them than are shown, only when there are', async () => {
    show([group({})], false);
    expect(await screen.findByText(/more kinds of errors than are shown/)).toBeTruthy();
    expect(await screen.findByText('12,003 jobs in 1 group or more')).toBeTruthy();
    cleanup();
    show([group({})]);
    await screen.findByRole('button', { name: /answered 500/ });
    expect(screen.queryByText(/more kinds of errors/)).toBeNull();
  });

  it('are those that failed as well, apart from those that are dead', async () => {
    const groups = [
      group({}),
      group({ state: 'failed', error: 'example.com answered 404', count: 3, estimate: false }),
    ];
    const asked = show(groups);
    await screen.findByRole('button', { name: /answered 404/ });
    expect(screen.getByRole('button', { name: /answered 500/ })).toBeTruthy();
    await userEvent.click(screen.getByRole('button', { name: 'Failed' }));
    await waitFor(() => expect(screen.queryByRole('button', { name: /answered 500/ })).toBeNull());
    const line = await screen.findByRole('button', { name: /answered 404/ });
    await userEvent.click(line);
    await screen.findByText('one of them');
    const list = asked.find(({ path }) => path === '/jobs');
    expect([list?.query.get('state'), list?.query.get('error_group')]).toEqual([
      'failed',
      '00ff00ff00ff00ff',
    ]);
    await userEvent.click(screen.getByRole('button', { name: /Retry all/ }));
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 12,000 jobs' }));
    expect(asked.findLast(({ method }) => method === 'POST')?.body).toEqual({
      filter: { state: 'failed', error_group: '00ff00ff00ff00ff' },
      dry_run: false,
    });
  });

  it('of one state are in the address', async () => {
    show([group({ state: 'failed' })], true, '/dead?state=dead');
    expect(await screen.findByText('No job is dead')).toBeTruthy();
  });

  it('are nothing to worry about when there are none', async () => {
    show([]);
    expect(await screen.findByText('No job is failed or dead')).toBeTruthy();
  });
});
