import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import type { Schedule } from '@/api/documents';
import { useSchedule } from '@/api/schedules';
import { fill } from '@/testing/fill';
import { renderAt } from '@/testing/render';
import { problem, serve, WHO, type Asked } from '@/testing/server';
import { CreateScheduleDialog, EditScheduleDialog } from './ScheduleDialog';

const ME = {
  'GET /whoami': { ...WHO, scopes: [...WHO.scopes, 'schedules:write'] },
  'GET /queues': { items: [], next: null },
};

function schedule(part: Partial<Schedule> = {}): Schedule {
  return {
    id: 's1',
    name: 'nightly',
    version: 1,
    state: 'active',
    description: 'At 02:30, in UTC',
    cron: '30 2 * * *',
    created_at: '2026-11-15T12:00:00Z',
    updated_at: '2026-11-15T12:00:00Z',
    job: { url: 'https://example.com/hook', headers: { Authorization: '***' } },
    ...part,
  };
}

function preview({ body }: Asked): unknown {
  const { cron } = body as { cron?: string };
  if (cron === '* * * * *') {
    return {
      description: 'Every minute, in UTC',
      items: [
        {
          at: '2030-01-01T00:00:00Z',
          local: '2030-01-01T01:00:00+01:00',
          note: 'moved by a change of the clocks',
        },
      ],
    };
  }
  return Response.json(
    {
      type: 'x',
      title: 'The schedule is not valid',
      status: 422,
      detail: 'wrong',
      errors: [{ pointer: '/cron', detail: 'has 4 fields' }],
    },
    { status: 422 },
  );
}

test('the server is asked for a preview when one stops typing, not at every key', async () => {
  const asked = serve({ ...ME, 'POST /schedules/preview': preview });
  renderAt(<CreateScheduleDialog onClose={() => undefined} />);
  const cron = await screen.findByLabelText('Cron');
  for (const value of ['*', '* ', '* *', '* * *', '* * * *', '* * * * *']) fill(cron, value);
  expect(await screen.findByText('Every minute, in UTC')).toBeDefined();
  // On the clocks of the schedule's zone, with what happened to them.
  expect(screen.getByText('Tue 1 Jan, 01:00 +01:00')).toBeDefined();
  expect(screen.getByText('moved by a change of the clocks')).toBeDefined();
  const previews = asked.filter(({ path }) => path === '/schedules/preview');
  expect(previews.map(({ body }) => (body as { cron: string }).cron)).toEqual(['* * * * *']);
});

test('what is wrong with the time is said at its field while one types, and gone when it is right', async () => {
  serve({ ...ME, 'POST /schedules/preview': preview });
  renderAt(<CreateScheduleDialog onClose={() => undefined} />);
  const cron = await screen.findByLabelText('Cron');
  fill(cron, '* * * *');
  expect(await screen.findByText('has 4 fields')).toBeDefined();
  expect(cron.getAttribute('aria-invalid')).toBe('true');
  fill(cron, '* * * * *');
  await waitFor(() => expect(cron.getAttribute('aria-invalid')).toBeNull());
  expect(await screen.findByText('Every minute, in UTC')).toBeDefined();
});

test('a schedule is made of its name, its time and its job', async () => {
  const asked = serve({ ...ME, 'POST /schedules/preview': preview, 'POST /schedules': schedule() });
  let closed = 0;
  renderAt(
    <CreateScheduleDialog
      onClose={() => {
        closed += 1;
      }}
    />,
  );
  const create = await screen.findByRole('button', { name: 'Create' });
  expect(create.hasAttribute('disabled')).toBe(true);
  fill(screen.getByLabelText('Name'), 'nightly');
  fill(screen.getByLabelText('Cron'), '* * * * *');
  fill(screen.getByLabelText('URL'), 'https://example.com/hook');
  await userEvent.click(create);
  await waitFor(() => expect(closed).toBe(1));
  expect(asked.find(({ method, path }) => method === 'POST' && path === '/schedules')?.body).toEqual({
    name: 'nightly',
    cron: '* * * * *',
    job: { url: 'https://example.com/hook' },
  });
});

function Editing({ onClose }: { onClose: () => void }) {
  const current = useSchedule('s1').data;
  return current === undefined ? null : <EditScheduleDialog current={current} onClose={onClose} />;
}

test('who saves over a change of somebody else is told, sees it, and decides', async () => {
  let now = schedule();
  const asked = serve({
    ...ME,
    'POST /schedules/preview': preview,
    'GET /schedules/s1': () => Response.json(now, { headers: { ETag: `"${now.version}"` } }),
    'PUT /schedules/s1': ({ headers }: Asked) =>
      headers.get('If-Match') === `"${now.version}"`
        ? { ...now, version: 3 }
        : problem(412, 'Changed', 'is at version 2'),
  });
  let closed = 0;
  renderAt(
    <Editing
      onClose={() => {
        closed += 1;
      }}
    />,
  );
  const cron = await screen.findByLabelText('Cron');
  now = schedule({ version: 2, cron: '0 4 * * *', description: 'At 04:00, in UTC' });
  fill(cron, '* * * * *');
  await userEvent.click(screen.getByRole('button', { name: 'Save' }));
  const notice = await screen.findByText(/Someone else changed this schedule/);
  await waitFor(() => expect(notice.closest('[role=alert]')?.textContent).toContain('At 04:00, in UTC'));
  // What was typed is still there.
  expect((screen.getByLabelText('Cron') as HTMLInputElement).value).toBe('* * * * *');
  await userEvent.click(await screen.findByRole('button', { name: 'Overwrite' }));
  await waitFor(() => expect(closed).toBe(1));
  const puts = asked.filter(({ method }) => method === 'PUT');
  expect(puts.map(({ headers }) => headers.get('If-Match'))).toEqual(['"1"', '"2"']);
  // Hidden values go back as they came: they stand for those that are kept.
  expect(puts.at(-1)?.body).toMatchObject({ cron: '* * * * *', job: { headers: { Authorization: '***' } } });
});

test('theirs can be taken instead', async () => {
  let now = schedule();
  serve({
    ...ME,
    'POST /schedules/preview': preview,
    'GET /schedules/s1': () => Response.json(now, { headers: { ETag: `"${now.version}"` } }),
    'PUT /schedules/s1': () => problem(412, 'Changed', 'is at version 2'),
  });
  renderAt(<Editing onClose={() => undefined} />);
  await screen.findByLabelText('Cron');
  now = schedule({ version: 2, cron: '0 4 * * *', description: 'At 04:00, in UTC' });
  await userEvent.click(screen.getByRole('button', { name: 'Save' }));
  await screen.findByRole('button', { name: 'Overwrite' });
  await userEvent.click(screen.getByRole('button', { name: /Discard my changes/ }));
  await waitFor(() => expect((screen.getByLabelText('Cron') as HTMLInputElement).value).toBe('0 4 * * *'));
  expect(screen.queryByText(/Someone else/)).toBeNull();
});
