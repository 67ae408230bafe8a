import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import type { Job } from '@/api/documents';
import { renderAt } from '@/testing/render';
import { job, problem, serve, WHO } from '@/testing/server';
import { JobPage } from './JobPage';

const MARKUP = '<img src=x onerror="alert(1)"><b>bold</b>';

function show(given: Job | (() => Response), more: Record<string, unknown> = {}) {
  const id = typeof given === 'function' ? 'nope' : given.id;
  const asked = serve({ 'GET /whoami': WHO, [`GET /jobs/${id}`]: given, ...more });
  return { asked, ...renderAt(<JobPage />, { path: '/jobs/$id', at: `/jobs/${id}` }) };
}

describe('the page of a job', () => {
  it('shows payload, headers, answers and errors as text, whatever markup is in them', async () => {
    const { container } = show(
      job({
        state: 'dead',
        kind: MARKUP,
        error: MARKUP,
        payload: { note: MARKUP },
        headers: { authorization: '***', 'x-note': MARKUP },
        tags: [MARKUP],
        correlation_id: MARKUP,
        attempts: [{ number: 1, outcome: 'dead', error: MARKUP, response: { status: 500, body: MARKUP } }],
      }),
    );
    expect((await screen.findByRole('region', { name: 'Payload' })).textContent).toContain('<img src=x');
    expect(screen.getByRole('region', { name: 'Response body' }).textContent).toBe(MARKUP);
    expect(container.querySelector('img, b')).toBeNull();
    expect(screen.getByText('hidden')).toBeTruthy();
  });

  it('counts down to the next try and says why', async () => {
    show(
      job({
        state: 'retrying',
        attempt: 2,
        spent: 2,
        error: 'example.com answered 503',
        run_at: new Date(Date.now() + 90_000).toISOString(),
      }),
    );
    expect((await screen.findAllByText(/Next attempt in/))[0]?.textContent).toMatch(/1m (29|30)s|1m 30s/);
    expect(screen.getByText('example.com answered 503')).toBeTruthy();
    expect(screen.getByText('attempt 3 of 8')).toBeTruthy();
  });

  it('retries a dead one at once', async () => {
    const dead = job({ state: 'dead', spent: 8 });
    const { asked } = show(dead, { [`POST /jobs/${dead.id}/retry`]: dead });
    await userEvent.click(await screen.findByRole('button', { name: 'Retry' }));
    await vi.waitFor(() => expect(asked.some(({ path }) => path.endsWith('/retry'))).toBe(true));
  });

  it('asks before it cancels, and says why that was refused', async () => {
    const running = job({ state: 'running', started_at: new Date().toISOString() });
    show(running, {
      [`POST /jobs/${running.id}/cancel`]: () => problem(409, 'Conflict', 'the job is completed', 'req-5'),
    });
    await userEvent.click(await screen.findByRole('button', { name: 'Cancel' }));
    const dialog = screen.getByRole('dialog');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Cancel the job' }));
    expect((await within(dialog).findByRole('alert')).textContent).toMatch(/completed.*req-5/);
  });

  it('says that a retry was not sent when nobody answers, and can be pressed again', async () => {
    const dead = job({ state: 'dead' });
    let isBack = false;
    const { asked } = show(dead, {
      [`POST /jobs/${dead.id}/retry`]: () => {
        if (!isBack) throw new TypeError('failed to fetch');
        return dead;
      },
    });
    const retry = await screen.findByRole('button', { name: 'Retry' });
    await userEvent.click(retry);
    expect(await screen.findByText('The job was not changed')).toBeTruthy();
    expect(
      screen.getByText(
        'Not confirmed: the server is unreachable. Check whether the change was made, and try again when the server is back.',
      ),
    ).toBeTruthy();
    isBack = true;
    await userEvent.click(retry);
    expect(await screen.findByText('Retrying the job')).toBeTruthy();
    expect(asked.filter(({ path }) => path.endsWith('/retry')).length).toBe(2);
  });

  it('says what keeps a job from running', async () => {
    const detail =
      'No connected worker runs the task "x" in the queue mail. The job waits until one connects.';
    show(job({ url: null, task: 'x', hints: [{ kind: 'no-worker', detail }] }));
    expect(await screen.findByText(detail)).toBeTruthy();
  });

  it('offers nothing that the key may not do', async () => {
    const dead = job({ state: 'dead' });
    serve({ 'GET /whoami': { ...WHO, scopes: ['jobs:read'] }, [`GET /jobs/${dead.id}`]: dead });
    renderAt(<JobPage />, { path: '/jobs/$id', at: `/jobs/${dead.id}` });
    await screen.findByRole('button', { name: 'Copy as curl' });
    expect(screen.queryByRole('button', { name: /Retry|Delete|Edit/ })).toBeNull();
  });

  it('shows what a running command prints, and takes error lines apart', async () => {
    const running = job({
      state: 'running',
      url: null,
      command: ['/bin/report'],
      started_at: new Date().toISOString(),
    });
    show(running, {
      [`GET /jobs/${running.id}/output`]: {
        first_line: 0,
        next_line: 2,
        lines: [
          { stream: 'stdout', text: 'row 1' },
          { stream: 'stderr', text: MARKUP },
        ],
      },
    });
    const log = await screen.findByRole('log');
    await vi.waitFor(() => expect(log.textContent).toContain('row 1'));
    expect(log.textContent).toContain(`error: ${MARKUP}`);
  });

  it('says so when there is no such job', async () => {
    show(() => problem(404, 'Not found', 'there is no such job'));
    expect(await screen.findByText('There is no job with this id')).toBeTruthy();
  });

  it('says why when it cannot be read', async () => {
    show(() => problem(503, 'Unavailable', 'the store is away', 'req-3'));
    expect((await screen.findByRole('alert')).textContent).toMatch(/store is away.*req-3/);
  });
});
