import { Link, useLocation } from '@tanstack/react-router';
import { BookOpen, Menu as MenuIcon, Plus, Search } from 'lucide-react';
import { useState } from 'react';
import { useAllows } from '@/api/session';
import { buttonClass, IconButton } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { SignOutButton } from './SignOutButton';
import { LiveDot } from './LiveDot';
import { Logo } from './Logo';
import { PLACES } from './navigation';
import { PlaceLinks } from './Sidebar';
import { TenantSwitcher } from './TenantSwitcher';
import { ThemeMenu } from './ThemeMenu';

export function TopBar({ onSearch }: { onSearch: () => void }) {
  return (
    <header className="sticky top-0 z-30 flex h-13 items-center gap-1 border-b bg-surface px-3 md:hidden">
      <Link to="/" aria-label="Foreman: overview" className="mr-auto">
        <Logo />
      </Link>
      <LiveDot />
      <IconButton label="Search" icon={Search} onClick={onSearch} />
      <ThemeMenu />
      <SignOutButton />
    </header>
  );
}

/** Four places under the thumb, and a door to the rest. */
export function BottomBar() {
  const [open, setOpen] = useState(false);
  const canSubmit = useAllows('jobs:write');
  const { pathname } = useLocation();
  const isBehind = PLACES.slice(4).some(({ to }) => pathname.startsWith(to));
  const item = 'flex h-14 flex-col items-center justify-center gap-0.5 text-2xs font-medium';
  return (
    <>
      <nav
        aria-label="Main pages"
        className="fixed inset-x-0 bottom-0 z-30 grid grid-cols-5 border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {PLACES.slice(0, 4).map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            activeProps={{ className: `${item} text-accent`, 'aria-current': 'page' }}
            inactiveProps={{ className: `${item} text-muted` }}
          >
            <Icon aria-hidden className="size-5" />
            {label}
          </Link>
        ))}
        <button
          type="button"
          className={`${item} ${isBehind ? 'text-accent' : 'text-muted'}`}
          onClick={() => setOpen(true)}
        >
          <MenuIcon aria-hidden className="size-5" />
          More
        </button>
      </nav>
      <Dialog open={open} onClose={() => setOpen(false)} title="Foreman">
        <div className="space-y-3 pb-2">
          <TenantSwitcher />
          <nav aria-label="All pages">
            <PlaceLinks onFollow={() => setOpen(false)} />
          </nav>
          <div className="grid grid-cols-2 gap-2">
            {canSubmit && (
              <Link to="/submit" onClick={() => setOpen(false)} className={buttonClass('primary')}>
                <Plus aria-hidden className="size-3.5" />
                Submit a job
              </Link>
            )}
            <a href="/docs" target="_blank" rel="noopener" className={buttonClass()}>
              <BookOpen aria-hidden className="size-3.5" />
              API reference
            </a>
          </div>
        </div>
      </Dialog>
    </>
  );
}
