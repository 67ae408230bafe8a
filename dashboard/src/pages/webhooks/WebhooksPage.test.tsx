import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import type { Webhook } from '@/api/documents';
import { fill } from '@/testing/fill';
import { renderAt } from '@/testing/render';
import { problem, serve, WHO } from '@/testing/server';
import { WebhooksPage } from './WebhooksPage';
import { healthOf, shortened } from './words';

const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

function webhook(part: Partial<Webhook> = {}): Webhook {
  return {
    id: 'w1',
    url: 'https://example.com/hook',
    events: ['job.dead'],
    description: 'Orders',
    enabled: true,
    disabled: null,
    failing_since: null,
    secrets: 1,
    version: 1,
    created_at: '2026-11-15T12:00:00Z',
    updated_at: '2026-11-15T12:00:00Z',
    ...part,
  };
}

const ANSWERS = { 'GET /whoami': WHO, 'GET /webhooks': { items: [webhook()], next: null } };

/** Everything the page could still know it from. */
function known(cache: ReturnType<typeof renderAt>['cache']): string {
  const queries = cache
    .getQueryCache()
    .getAll()
    .map(({ state }) => state.data);
  const mutations = cache
    .getMutationCache()
    .getAll()
    .map(({ state }) => [state.data, state.variables]);
  return (
    document.body.textContent +
    JSON.stringify([queries, mutations, { ...localStorage }, { ...sessionStorage }])
  );
}

test('the secret is shown once, is not lost by a slip, and is then gone', async () => {
  const asked = serve({ ...ANSWERS, 'POST /webhooks': webhook({ secret: SECRET }) });
  const { cache } = renderAt(<WebhooksPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'New webhook' }));
  fill(await screen.findByLabelText('URL'), 'https://example.com/hook');
  await userEvent.click(screen.getByRole('checkbox', { name: /job\.completed/ }));
  await userEvent.click(screen.getByRole('button', { name: 'Create' }));
  expect(await screen.findByText(SECRET)).toBeDefined();
  expect(asked.find(({ method }) => method === 'POST')?.body).toEqual({
    url: 'https://example.com/hook',
    events: ['job.failed', 'job.dead', 'job.completed'],
  });
  const dialog = screen.getByRole('dialog');
  await userEvent.click(within(dialog).getByRole('button', { name: 'Close' }));
  expect(screen.getByText(SECRET)).toBeDefined();
  expect(within(dialog).getByRole('alert').textContent).toContain('cannot be shown again');
  await userEvent.click(within(dialog).getByRole('checkbox', { name: /I have saved/ }));
  await userEvent.click(within(dialog).getByRole('button', { name: 'Done' }));
  await waitFor(() => expect(known(cache)).not.toContain(SECRET));
});

test('what is wrong with a webhook stands at its field', async () => {
  serve({
    ...ANSWERS,
    'POST /webhooks': () =>
      Response.json(
        {
          type: 'x',
          title: 'x',
          status: 422,
          detail: 'x',
          errors: [{ pointer: '/url', detail: 'is not a URL' }],
        },
        { status: 422 },
      ),
  });
  renderAt(<WebhooksPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'New webhook' }));
  const url = await screen.findByLabelText('URL');
  fill(url, 'nope');
  await userEvent.click(screen.getByRole('button', { name: 'Create' }));
  expect(await screen.findByText('is not a URL')).toBeDefined();
  expect(url.getAttribute('aria-invalid')).toBe('true');
});

test('a secret is rotated after it is confirmed, with the time that the old one goes on', async () => {
  const asked = serve({
    ...ANSWERS,
    'POST /webhooks/w1/rotate-secret': webhook({ secret: SECRET, secrets: 2 }),
  });
  renderAt(<WebhooksPage />);
  await userEvent.click(await screen.findByRole('button', { name: /Actions for/ }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Rotate the secret' }));
  expect(asked.some(({ method }) => method === 'POST')).toBe(false);
  await userEvent.selectOptions(await screen.findByLabelText('Keep the old one valid for'), '0s');
  await userEvent.click(screen.getByRole('button', { name: 'Create a new secret' }));
  expect(await screen.findByText(SECRET)).toBeDefined();
  expect(asked.find(({ method }) => method === 'POST')?.body).toEqual({ overlap: '0s' });
});

test('deleting is asked for once more, and a refusal is told where one asked', async () => {
  serve({ ...ANSWERS, 'DELETE /webhooks/w1': () => problem(503, 'Away', 'the database is away') });
  renderAt(<WebhooksPage />);
  await userEvent.click(await screen.findByRole('button', { name: /Actions for/ }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Delete' }));
  const dialog = await screen.findByRole('dialog');
  await userEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
  expect((await within(dialog).findByRole('alert')).textContent).toContain('the database is away');
});

test('health is said in words', () => {
  expect(healthOf(webhook())).toMatchObject({ word: 'enabled', why: null });
  expect(healthOf(webhook({ failing_since: '2026-11-15T12:00:00Z' })).word).toBe('failing');
  expect(healthOf(webhook({ enabled: false, disabled: 'gone' })).why).toContain('410');
  expect(healthOf(webhook({ enabled: false, disabled: 'failing' })).tone).toBe('bad');
  expect(shortened(['job.completed', 'job.failed', 'job.dead', 'job.cancelled', 'webhook.disabled'])).toEqual(
    ['job.*', 'webhook.disabled'],
  );
  expect(shortened(['job.dead'])).toEqual(['job.dead']);
});
