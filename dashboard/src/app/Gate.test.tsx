import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  RouterProvider,
  type AnyRouter,
} from '@tanstack/react-router';
import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test } from 'vitest';
import { SignInPage } from '@/pages/sign-in/SignInPage';
import { fill } from '@/testing/fill';
import { problem, serve, WHO } from '@/testing/server';
import { Gate } from './Gate';

test('whoever has signed in does not see the form again while the next page is on its way', async () => {
  serve({
    'GET /whoami': () => problem(401, 'No key', 'show a key'),
    'POST /session': { ...WHO, key: 'abc' },
  });
  const root = createRootRoute({ component: Gate });
  const door = createRoute({ getParentRoute: () => root, path: '/sign-in', component: SignInPage });
  const never = new Promise<{ Page: () => null }>(() => undefined);
  const inside = createRoute({
    getParentRoute: () => root,
    path: '/jobs',
    component: lazyRouteComponent(() => never, 'Page'),
  });
  const router = createRouter({
    routeTree: root.addChildren([door, inside]),
    history: createMemoryHistory({ initialEntries: ['/sign-in?next=%2Fjobs'] }),
  }) as unknown as AnyRouter;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  fill(await screen.findByLabelText('API key'), 'fm_right');
  await userEvent.click(screen.getByRole('button', { name: 'Sign in' }));
  await waitFor(() => expect(router.state.location.pathname).toBe('/jobs'));
  expect(await screen.findByRole('status', { name: 'Loading' })).toBeDefined();
  expect(screen.queryByLabelText('API key')).toBeNull();
  expect(screen.queryByRole('navigation')).toBeNull();
});
