import { Navigate, Outlet, useLocation, useMatches } from '@tanstack/react-router';
import { useWhoami } from '@/api/session';
import { chosenTenant } from '@/api/tenant';
import { isStatus } from '@/api/problem';
import { ErrorState } from '@/components/ErrorState';
import { LiveProvider } from '@/live/LiveProvider';
import { Logo } from './Logo';
import { Shell } from './Shell';

/** Finds out who looks before anything is shown: a stranger gets the sign-in page and nothing else. */
export function Gate() {
  const who = useWhoami();
  const { pathname, href } = useLocation();
  const shown = useMatches({ select: (matches) => matches.at(-1)?.routeId });
  const isAtDoor = pathname === '/sign-in';
  // The address changes before the page does. One that belongs inside is not shown outside meanwhile, nor the other way round.
  if (isAtDoor !== (shown === '/sign-in')) return <Waiting />;
  if (isAtDoor) return <Outlet />;
  if (isStatus(who.error, 401)) {
    return <Navigate to="/sign-in" search={href === '/' ? {} : { next: href }} replace />;
  }
  if (who.data === undefined) {
    if (who.error === null) return <Waiting />;
    return (
      <main className="grid min-h-dvh place-items-center p-4">
        <ErrorState error={who.error} retry={() => void who.refetch()} />
      </main>
    );
  }
  return (
    <LiveProvider tenant={chosenTenant()}>
      <Shell />
    </LiveProvider>
  );
}

function Waiting() {
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div role="status" aria-label="Loading" className="animate-breathe">
        <Logo />
      </div>
    </main>
  );
}
