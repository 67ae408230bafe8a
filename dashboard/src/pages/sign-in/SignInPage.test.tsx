import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { fill } from '@/testing/fill';
import { renderAt } from '@/testing/render';
import { problem, serve, WHO } from '@/testing/server';
import { SignInPage } from './SignInPage';

const STRANGER = { 'GET /whoami': () => problem(401, 'No key', 'show a key') };

test('a wrong key is told so, and a right one leads to where one wanted to go', async () => {
  const asked = serve({
    ...STRANGER,
    'POST /session': ({ body }: { body: unknown }) =>
      (body as { key: string }).key === 'fm_right'
        ? { ...WHO, key: 'abc' }
        : problem(401, 'No key', 'unknown'),
  });
  const { router, cache } = renderAt(<SignInPage />, {
    path: '/sign-in',
    at: '/sign-in?next=%2Fjobs%3Fqueue%3Dmail',
  });
  const field = await screen.findByLabelText('API key');
  expect(field.getAttribute('type')).toBe('password');
  fill(field, 'fm_wrong');
  await userEvent.click(screen.getByRole('button', { name: 'Sign in' }));
  expect((await screen.findByRole('alert')).textContent).toMatch(/not valid/);
  expect((field as HTMLInputElement).value).toBe('');
  fill(field, 'fm_right');
  await userEvent.click(screen.getByRole('button', { name: 'Sign in' }));
  await waitFor(() => expect(router.state.location.href).toBe('/jobs?queue=mail'));
  expect(asked.filter(({ path }) => path === '/session')).toHaveLength(2);
  // The key is in no storage, and forgotten by the cache.
  await waitFor(() => expect(kept(cache)).not.toContain('fm_right'));
});

function kept(cache: ReturnType<typeof renderAt>['cache']): string {
  const mutations = cache
    .getMutationCache()
    .getAll()
    .map(({ state }) => state.variables);
  return JSON.stringify([mutations, { ...localStorage }, { ...sessionStorage }, document.cookie]);
}

test('the link that `foreman dev` prints signs in, and leaves no key in the address', async () => {
  const key = `fm_dev_${'0123456789abcdef'.repeat(4)}`;
  const asked = serve({
    ...STRANGER,
    'POST /session': ({ body }: { body: unknown }) =>
      (body as { key: string }).key === key ? { ...WHO, key: 'abc' } : problem(401, 'No key', 'unknown'),
  });
  const { router, cache } = renderAt(<SignInPage />, {
    path: '/sign-in',
    at: `/sign-in?next=%2Fjobs#key=${key}`,
  });
  await waitFor(() => expect(router.state.location.href).toBe('/jobs'));
  expect(asked.filter(({ path }) => path === '/session')).toHaveLength(1);
  await waitFor(() => expect(kept(cache)).not.toContain(key));
});

test('a link with any other key signs nobody in', async () => {
  const asked = serve(STRANGER);
  const { router } = renderAt(<SignInPage />, {
    path: '/sign-in',
    at: '/sign-in#key=fm_0123456789ab_of-somebody-else',
  });
  await screen.findByLabelText('API key');
  await waitFor(() => expect(router.state.location.hash).toBe(''));
  expect(asked.filter(({ path }) => path === '/session')).toHaveLength(0);
});

test('another site is never where one goes', async () => {
  serve({ 'GET /whoami': { ...WHO, key: 'abc' } });
  const { router } = renderAt(<SignInPage />, {
    path: '/sign-in',
    at: '/sign-in?next=%2F%2Fevil.example%2F',
  });
  await waitFor(() => expect(router.state.location.href).toBe('/'));
});

test('where the server asks for no key there is nothing to sign in to', async () => {
  serve({ 'GET /whoami': WHO });
  const { router } = renderAt(<SignInPage />, { path: '/sign-in' });
  await waitFor(() => expect(router.state.location.pathname).toBe('/'));
});

test('a server that cannot be reached is said to be so', async () => {
  serve({ 'GET /whoami': () => problem(503, 'Away', 'the database is away') });
  renderAt(<SignInPage />, { path: '/sign-in' });
  expect((await screen.findByRole('alert')).textContent).toContain('the database is away');
});
