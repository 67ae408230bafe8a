import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
  type AnyRouter,
} from '@tanstack/react-router';
import { render } from '@testing-library/react';
import type { ReactNode } from 'react';
import { parseSearch, stringifySearch } from '@/app/search';
import { Toaster } from '@/components/Toaster';

interface Options {
  /** The route's own path, such as `/jobs/$id`. */
  path?: string;
  /** Where one is. */
  at?: string;
  validateSearch?: (raw: Record<string, unknown>) => object;
}

/** A page where it lives: under its route, with a cache of its own. */
export function renderAt(children: ReactNode, { path = '/', at = path, validateSearch }: Options = {}) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } });
  const root = createRootRoute();
  const page = createRoute({
    getParentRoute: () => root,
    path,
    component: () => children,
    ...(validateSearch === undefined ? {} : { validateSearch }),
  });
  const elsewhere = createRoute({
    getParentRoute: () => root,
    path: '$',
    component: () => <p>elsewhere</p>,
  });
  const router = createRouter({
    routeTree: root.addChildren([page, elsewhere]),
    history: createMemoryHistory({ initialEntries: [at] }),
    parseSearch,
    stringifySearch,
  }) as unknown as AnyRouter;
  const view = render(
    <QueryClientProvider client={cache}>
      <RouterProvider router={router} />
      <Toaster />
    </QueryClientProvider>,
  );
  return { ...view, cache, router };
}
