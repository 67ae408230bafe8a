import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { renderAt } from '@/testing/render';
import { job, problem, serve, type Asked } from '@/testing/server';
import { BulkDialog, type Bulk } from './BulkDialog';

function show(bulk: Bulk) {
  const onDone = vi.fn();
  renderAt(<BulkDialog bulk={bulk} onClose={() => undefined} onDone={onDone} />);
  return onDone;
}

interface Body {
  dry_run: boolean;
  filter: object;
}

describe('what is done to many', () => {
  it('is counted by the server first, and done only when confirmed', async () => {
    const asked = serve({
      'POST /jobs/retry': ({ body }: Asked) => ({
        matched: 1000,
        changed: (body as Body).dry_run ? 0 : 1000,
      }),
    });
    const onDone = show({ verb: 'retry', of: { filter: { state: 'dead', queue: 'doomed' } } });
    const button = await screen.findByRole('button', { name: 'Retry 1,000 jobs' });
    expect(asked.map(({ body }) => (body as Body).dry_run)).toEqual([true]);
    await userEvent.click(button);
    await vi.waitFor(() => expect(onDone).toHaveBeenCalled());
    expect(asked.map(({ body }) => body)).toEqual([
      { filter: { state: 'dead', queue: 'doomed' }, dry_run: true },
      { filter: { state: 'dead', queue: 'doomed' }, dry_run: false },
    ]);
    expect(await screen.findByText('1,000 jobs retried')).toBeTruthy();
  });

  it('says which were skipped because the key cannot run commands', async () => {
    serve({
      'POST /jobs/retry': ({ body }: Asked) =>
        (body as Body).dry_run
          ? { matched: 5, changed: 0, skipped: 0 }
          : { matched: 5, changed: 2, skipped: 3 },
    });
    const onDone = show({ verb: 'retry', of: { filter: { state: 'dead' } } });
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 5 jobs' }));
    await vi.waitFor(() => expect(onDone).toHaveBeenCalled());
    expect(await screen.findByText('2 jobs retried')).toBeTruthy();
    expect(await screen.findByText('3 commands skipped: your key cannot run commands here.')).toBeTruthy();
  });

  it('skips those selected that the key may not run again', async () => {
    const [call, command] = [job({ state: 'dead' }), job({ state: 'dead' })];
    serve({
      [`POST /jobs/${call.id}/retry`]: call,
      [`POST /jobs/${command.id}/retry`]: () =>
        problem(403, 'Forbidden', 'it needs exec:command', 'req-1', { scope: 'exec:command' }),
    });
    const onDone = show({ verb: 'retry', of: { jobs: [call, command] } });
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 2 jobs' }));
    await vi.waitFor(() => expect(onDone).toHaveBeenCalled());
    expect(await screen.findByText('1 command skipped: your key cannot run commands here.')).toBeTruthy();
  });

  it('does not take a key that may change nothing for one that may not run commands', async () => {
    const dead = job({ state: 'dead' });
    serve({
      [`POST /jobs/${dead.id}/retry`]: () =>
        problem(403, 'Forbidden', 'the key lacks the scope jobs:write', 'req-1', { scope: 'jobs:write' }),
    });
    show({ verb: 'retry', of: { jobs: [dead] } });
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 1 job' }));
    expect((await screen.findByRole('alert')).textContent).toMatch(/jobs:write/);
  });

  it('says so when there is none, and offers nothing', async () => {
    serve({ 'POST /jobs/cancel': { matched: 0, changed: 0 } });
    show({ verb: 'cancel', of: { filter: {} } });
    await screen.findByText(/applies to none/);
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Cancel 0 jobs' }).disabled).toBe(true);
  });

  it('says why the server would not', async () => {
    serve({
      'POST /jobs/retry': () => problem(403, 'Forbidden', 'the key has not the scope jobs:write', 'req-9'),
    });
    show({ verb: 'retry', of: { filter: {} } });
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toMatch(/jobs:write.*req-9/);
  });

  it('is done to those selected that it can be done to, and the rest is left alone', async () => {
    const [dead, running, gone] = [
      job({ state: 'dead' }),
      job({ state: 'running' }),
      job({ state: 'failed' }),
    ];
    const asked = serve({
      [`POST /jobs/${dead.id}/retry`]: dead,
      [`POST /jobs/${gone.id}/retry`]: () => problem(409, 'Conflict', 'it has moved on'),
    });
    const onDone = show({ verb: 'retry', of: { jobs: [dead, running, gone] } });
    await userEvent.click(await screen.findByRole('button', { name: 'Retry 2 jobs' }));
    await vi.waitFor(() => expect(onDone).toHaveBeenCalled());
    expect(asked.map(({ path }) => path).toSorted()).toEqual(
      [`/jobs/${dead.id}/retry`, `/jobs/${gone.id}/retry`].toSorted(),
    );
    expect(await screen.findByText('1 job retried')).toBeTruthy();
    expect(await screen.findByText('1 job changed state meanwhile.')).toBeTruthy();
  });
});
