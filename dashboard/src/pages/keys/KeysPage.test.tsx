import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import type { Key } from '@/api/documents';
import { fill } from '@/testing/fill';
import { renderAt } from '@/testing/render';
import { serve, WHO } from '@/testing/server';
import { KeysPage } from './KeysPage';
import { PRESETS } from './scopes';

const SECRET = 'fm_0123456789ab_TLcovy1COQgX1BRtCF9aM6iVqpT8JePCSnsdCzXhtZ04U5Bht';

function key(part: Partial<Key> = {}): Key {
  return {
    id: '0123456789ab',
    tenant: 'default',
    name: 'shop',
    state: 'live',
    scopes: ['jobs:read'],
    created_at: '2026-11-15T12:00:00Z',
    last_used_at: null,
    expires_at: null,
    ...part,
  };
}

function tenant(id: string) {
  return { id, version: 1, disabled: false };
}

const ANSWERS = {
  'GET /whoami': WHO,
  'GET /tenants': { items: [tenant('acme'), tenant('default')], next: null },
  'GET /tenants/default/keys': {
    items: [key({ state: 'revoked', id: 'old', name: 'old' }), key()],
    next: null,
  },
  'GET /tenants/acme/keys': { items: [], next: null },
};

test('a key is made of scopes and an end, shown once, and then gone', async () => {
  const asked = serve({ ...ANSWERS, 'POST /tenants/default/keys': { ...key(), key: SECRET } });
  const { cache } = renderAt(<KeysPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'New key' }));
  const create = await screen.findByRole('button', { name: 'Create' });
  // A preset, and one more by hand.
  await userEvent.click(screen.getByRole('button', { name: 'Read only' }));
  await userEvent.click(screen.getByRole('checkbox', { name: /exec:command/ }));
  await userEvent.click(screen.getByRole('checkbox', { name: /stream:read/ }));
  await userEvent.selectOptions(screen.getByLabelText('Expires'), '720h');
  fill(screen.getByLabelText('Name'), 'shop');
  await userEvent.click(create);
  expect(await screen.findByText(SECRET)).toBeDefined();
  expect(asked.find(({ method }) => method === 'POST')?.body).toEqual({
    name: 'shop',
    scopes: ['jobs:read', 'schedules:read', 'exec:command'],
    expires_in: '720h',
  });
  await userEvent.click(screen.getByRole('checkbox', { name: /I have saved/ }));
  await userEvent.click(screen.getByRole('button', { name: 'Done' }));
  const mutations = () =>
    cache
      .getMutationCache()
      .getAll()
      .map(({ state }) => state.data);
  await waitFor(() => expect(document.body.textContent + JSON.stringify(mutations())).not.toContain(SECRET));
});

test('whoever may see jobs may follow them too, unless somebody says otherwise', async () => {
  serve(ANSWERS);
  renderAt(<KeysPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'New key' }));
  expect((await screen.findByRole<HTMLInputElement>('checkbox', { name: /stream:read/ })).checked).toBe(true);
  for (const { scopes } of PRESETS) expect(scopes.includes('stream:read')).toBe(scopes.includes('jobs:read'));
});

test('a key that may do nothing cannot be made', async () => {
  serve(ANSWERS);
  renderAt(<KeysPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'New key' }));
  for (const box of await screen.findAllByRole<HTMLInputElement>('checkbox')) {
    if (box.checked) await userEvent.click(box);
  }
  expect(screen.getByRole('button', { name: 'Create' }).hasAttribute('disabled')).toBe(true);
});

test('revoking is asked for once more, and only a live key can be', async () => {
  const asked = serve({ ...ANSWERS, 'DELETE /tenants/default/keys/0123456789ab': key({ state: 'revoked' }) });
  renderAt(<KeysPage />);
  await screen.findByRole('table', { name: 'Keys of default' });
  expect(screen.queryByRole('button', { name: 'Actions for old' })).toBeNull();
  await userEvent.click(await screen.findByRole('button', { name: 'Actions for shop' }));
  await userEvent.click(await screen.findByRole('menuitem', { name: 'Revoke' }));
  const dialog = await screen.findByRole('dialog');
  expect(asked.some(({ method }) => method === 'DELETE')).toBe(false);
  await userEvent.click(within(dialog).getByRole('button', { name: 'Revoke' }));
  await waitFor(() => expect(asked.some(({ method }) => method === 'DELETE')).toBe(true));
});

test('another tenant has other keys', async () => {
  serve(ANSWERS);
  renderAt(<KeysPage />);
  await screen.findByRole('table', { name: 'Keys of default' });
  await userEvent.selectOptions(screen.getByLabelText('Tenant'), 'acme');
  expect(await screen.findByText('acme has no keys')).toBeDefined();
  expect(screen.queryByText('shop')).toBeNull();
});

test('who is no operator is told why there is nothing to see', async () => {
  const asked = serve({ 'GET /whoami': { ...WHO, scopes: ['jobs:read', 'jobs:write'] } });
  renderAt(<KeysPage />);
  expect(await screen.findByText('Keys are for operators')).toBeDefined();
  expect(asked.some(({ path }) => path.startsWith('/tenants'))).toBe(false);
});
