import { Link } from '@tanstack/react-router';
import { BookOpen, Keyboard, Plus, Search } from 'lucide-react';
import { useOverview } from '@/api/overview';
import { useAllows, useIsOperator } from '@/api/session';
import { buttonClass, IconButton } from '@/components/Button';
import { Count } from '@/components/Count';
import { Kbd } from '@/components/Kbd';
import { SignOutButton } from './SignOutButton';
import { LiveDot } from './LiveDot';
import { Logo } from './Logo';
import { PLACES } from './navigation';
import { TenantSwitcher } from './TenantSwitcher';
import { ThemeMenu } from './ThemeMenu';

export function Sidebar({ onSearch, onHelp }: { onSearch: () => void; onHelp: () => void }) {
  const canSubmit = useAllows('jobs:write');
  return (
    <aside className="fixed inset-y-0 left-0 z-30 hidden w-56 flex-col border-r bg-surface md:flex">
      <div className="flex h-14 items-center justify-between px-4">
        <Link to="/" aria-label="Foreman: overview">
          <Logo />
        </Link>
        <LiveDot />
      </div>
      <div className="space-y-2 px-3 pb-3">
        <TenantSwitcher />
        <button
          type="button"
          onClick={onSearch}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line-strong bg-bg px-2.5 text-sm text-faint transition-colors hover:text-ink"
        >
          <Search aria-hidden className="size-3.5" />
          <span className="flex-1 text-left">Search</span>
          <Kbd>/</Kbd>
        </button>
      </div>
      <nav aria-label="Pages" className="min-h-0 flex-1 overflow-y-auto px-3">
        <PlaceLinks />
      </nav>
      <div className="space-y-2 border-t p-3">
        {canSubmit && (
          <Link to="/submit" className={`${buttonClass('primary')} w-full`}>
            <Plus aria-hidden className="size-3.5" />
            Submit a job
          </Link>
        )}
        <div className="flex items-center justify-between">
          <div className="flex">
            <ThemeMenu />
            <IconButton label="Keyboard shortcuts" icon={Keyboard} onClick={onHelp} />
            <a
              href="/docs"
              target="_blank"
              rel="noopener"
              aria-label="API reference"
              title="API reference"
              className="inline-flex size-8 items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink"
            >
              <BookOpen aria-hidden className="size-4" />
            </a>
          </div>
          <SignOutButton />
        </div>
      </div>
    </aside>
  );
}

export function PlaceLinks({ onFollow }: { onFollow?: () => void }) {
  const isOperator = useIsOperator();
  const attention = useOverview(useAllows('jobs:read')).data?.attention ?? [];
  // Those that are dead, and those that failed in the last hour.
  const failures = attention.filter(({ kind }) => kind === 'dead-jobs' || kind === 'failed-jobs');
  const count = failures.reduce((sum, item) => sum + item.count, 0);
  return (
    <ul className="space-y-0.5">
      {PLACES.filter((place) => isOperator || place.operators !== true).map(({ to, label, icon: Icon }) => (
        <li key={to}>
          <Link
            to={to}
            {...(onFollow === undefined ? {} : { onClick: onFollow })}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            activeProps={{ className: 'bg-accent-soft text-accent font-semibold', 'aria-current': 'page' }}
            inactiveProps={{ className: 'text-muted hover:bg-hover hover:text-ink font-medium' }}
            className="flex h-9 items-center gap-2.5 rounded-md px-2.5 text-sm transition-colors md:h-8"
          >
            <Icon aria-hidden className="size-4 shrink-0" />
            <span className="flex-1">{label}</span>
            {to === '/dead' && count > 0 && (
              <span className="rounded-full bg-bad-soft px-1.5 text-xs font-medium text-bad">
                <Count count={count} estimate={failures.some((item) => item.estimate)} />
              </span>
            )}
          </Link>
        </li>
      ))}
    </ul>
  );
}
