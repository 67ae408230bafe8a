import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  type RouteComponent,
} from '@tanstack/react-router';
import { readDeadSearch } from '@/pages/dead/search';
import { readJobsSearch } from '@/pages/jobs/search';
import { readOverviewSearch } from '@/pages/overview/search';
import { Gate } from './Gate';
import { NotFound } from './NotFound';
import { PageError, PagePending } from './PageStates';
import { parseSearch, stringifySearch } from './search';

const root = createRootRoute({ component: Gate, notFoundComponent: NotFound });

function page<Path extends string>(path: Path, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component });
}

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazy(() => import('@/pages/overview/OverviewPage'), 'OverviewPage'),
  validateSearch: readOverviewSearch,
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: '/jobs',
  component: lazy(() => import('@/pages/jobs/JobsPage'), 'JobsPage'),
  validateSearch: readJobsSearch,
});

const dead = createRoute({
  getParentRoute: () => root,
  path: '/dead',
  component: lazy(() => import('@/pages/dead/DeadPage'), 'DeadPage'),
  validateSearch: readDeadSearch,
});

const tree = root.addChildren([
  overview,
  jobs,
  page(
    '/jobs/$id',
    lazy(() => import('@/pages/job/JobPage'), 'JobPage'),
  ),
  dead,
  page(
    '/schedules',
    lazy(() => import('@/pages/schedules/SchedulesPage'), 'SchedulesPage'),
  ),
  page(
    '/schedules/$schedule',
    lazy(() => import('@/pages/schedules/SchedulePage'), 'SchedulePage'),
  ),
  page(
    '/queues',
    lazy(() => import('@/pages/queues/QueuesPage'), 'QueuesPage'),
  ),
  page(
    '/workers',
    lazy(() => import('@/pages/workers/WorkersPage'), 'WorkersPage'),
  ),
  page(
    '/webhooks',
    lazy(() => import('@/pages/webhooks/WebhooksPage'), 'WebhooksPage'),
  ),
  page(
    '/webhooks/$webhook',
    lazy(() => import('@/pages/webhooks/WebhookPage'), 'WebhookPage'),
  ),
  page(
    '/keys',
    lazy(() => import('@/pages/keys/KeysPage'), 'KeysPage'),
  ),
  page(
    '/submit',
    lazy(() => import('@/pages/submit/SubmitPage'), 'SubmitPage'),
  ),
  page(
    '/sign-in',
    lazy(() => import('@/pages/sign-in/SignInPage'), 'SignInPage'),
  ),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  defaultPendingComponent: PagePending,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
