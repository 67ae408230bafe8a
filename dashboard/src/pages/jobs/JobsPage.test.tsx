import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import type { Job } from '@/api/documents';
import { MAX_PAGE, PAGE } from '@/api/jobs';
import { keys } from '@/api/keys';
import { renderAt } from '@/testing/render';
import { job, OVERVIEW, serve, WHO, type Asked } from '@/testing/server';
import { JobsPage } from './JobsPage';
import { readJobsSearch } from './search';

function show(jobs: () => Job[], at = '/jobs') {
  const asked = serve({
    'GET /whoami': WHO,
    'GET /overview': OVERVIEW,
    'GET /queues': { items: [] },
    'GET /jobs': ({ query }: Asked) => {
      const limit = Number(query.get('limit'));
      const from = query.get('cursor') === null ? 0 : Number(query.get('cursor'));
      const items = jobs().slice(from, from + limit);
      return { items, next: from + limit < jobs().length ? String(from + limit) : null };
    },
    'POST /jobs/retry': { matched: 1000, changed: 0 },
  });
  const view = renderAt(<JobsPage />, { path: '/jobs', at, validateSearch: readJobsSearch });
  const lists = () => asked.filter(({ method, path }) => method === 'GET' && path === '/jobs');
  return { ...view, asked, lists };
}

function ids(): string[] {
  return screen
    .getAllByRole('checkbox', { name: /^Select job/ })
    .map((box) => box.closest('tr')?.dataset['job'] ?? '');
}

describe('the list of jobs', () => {
  it('stays still while jobs arrive, and shows them when asked to', async () => {
    let jobs = Array.from({ length: PAGE + 5 }, () => job());
    const { cache, lists } = show(() => jobs);
    await screen.findByRole('table');
    const before = ids();
    expect(before).toHaveLength(PAGE);

    jobs = [job(), job(), job(), ...jobs];
    await cache.invalidateQueries({ queryKey: keys.jobs.lists });
    const button = await screen.findByRole('button', { name: '3 new jobs' });
    expect(ids()).toEqual(before);

    await cache.invalidateQueries({ queryKey: keys.jobs.lists });
    await vi.waitFor(() => expect(lists().at(-1)?.query.get('limit')).toBe(String(PAGE + 3)));
    expect(Number(lists().at(-1)?.query.get('limit'))).toBeLessThanOrEqual(MAX_PAGE);

    await userEvent.click(button);
    await vi.waitFor(() => expect(ids().slice(0, 3)).toEqual(jobs.slice(0, 3).map(({ id }) => id)));
    expect(screen.queryByRole('button', { name: /new job/ })).toBeNull();
  });

  it('asks for what the URL says, and puts what is chosen into it', async () => {
    const { lists, router } = show(() => [job()], '/jobs?queue=letters');
    await screen.findByRole('table');
    expect(lists()[0]?.query.get('queue')).toBe('letters');
    await userEvent.click(screen.getByRole('button', { name: /^completed/ }));
    await vi.waitFor(() => expect(lists().at(-1)?.query.get('state')).toBe('completed'));
    expect(router.state.location.search).toMatchObject({ queue: 'letters', state: 'completed' });
  });

  it('turns pages by cursor, and back', async () => {
    const jobs = Array.from({ length: PAGE + 5 }, () => job());
    show(() => jobs);
    await screen.findByRole('table');
    await userEvent.click(screen.getByRole('button', { name: 'Next' }));
    await vi.waitFor(() => expect(ids()).toEqual(jobs.slice(PAGE).map(({ id }) => id)));
    await userEvent.click(screen.getByRole('button', { name: 'Previous' }));
    await vi.waitFor(() => expect(ids()).toHaveLength(PAGE));
  });

  it('selects a row, a range and everything that matches', async () => {
    const jobs = Array.from({ length: 6 }, () => job({ state: 'dead' }));
    const { asked } = show(() => jobs, '/jobs?state=dead');
    await screen.findByRole('table');
    const boxes = screen.getAllByRole('checkbox', { name: /^Select job/ });
    const user = userEvent.setup();
    await user.click(boxes[1] as HTMLElement);
    await user.keyboard('{Shift>}');
    await user.click(boxes[4] as HTMLElement);
    await user.keyboard('{/Shift}');
    const bar = screen.getByRole('toolbar');
    expect(bar.textContent).toContain('4 jobs selected');
    await user.click(within(bar).getByRole('button', { name: /all matching/i }));
    await user.click(within(bar).getByRole('button', { name: 'Retry' }));
    expect(await screen.findByRole('button', { name: 'Retry 1,000 jobs' })).toBeTruthy();
    expect(asked.at(-1)?.body).toEqual({ filter: { state: 'dead' }, dry_run: true });
  });

  it('goes through the rows with j and k, and selects with x', async () => {
    const jobs = [job(), job(), job()];
    show(() => jobs);
    await screen.findByRole('table');
    await userEvent.keyboard('jjk');
    expect(document.activeElement?.getAttribute('href')).toBe(`/jobs/${jobs[0]?.id}`);
    await userEvent.keyboard('jx');
    expect(screen.getByRole('toolbar').textContent).toContain('1 job selected');
  });

  it('lets whoever goes by keyboard pass the filters', async () => {
    const jobs = [job(), job()];
    show(() => jobs);
    await screen.findByRole('table');
    await userEvent.tab();
    await userEvent.keyboard('{Enter}');
    expect(document.activeElement?.getAttribute('href')).toBe(`/jobs/${jobs[0]?.id}`);
  });

  it('shows how to make the first one when there is none', async () => {
    show(() => []);
    expect((await screen.findByRole('region', { name: /curl/ })).textContent).toContain('/api/v1/jobs');
  });

  it('says so when nothing matches, and takes the filters away', async () => {
    const { router } = show(() => [], '/jobs?tag=none');
    await userEvent.click(await screen.findByRole('button', { name: 'Clear all filters' }));
    await vi.waitFor(() => expect(router.state.location.search).toEqual({}));
  });
});
