import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { chosenTenant } from '@/api/tenant';
import { BottomBar, TopBar } from './PhoneBars';
import { CommandPalette } from './CommandPalette';
import { KeyboardHelp } from './KeyboardHelp';
import { Sidebar } from './Sidebar';
import { StreamBanner } from './StreamBanner';
import { useShortcuts } from './useShortcuts';

export function Shell() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  useFocusOnArrival();
  useShortcuts({ onSearch: () => setPalette(true), onHelp: () => setHelp(true) });
  return (
    <div className="min-h-dvh md:pl-56">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-surface focus:px-3 focus:py-2 focus:shadow-high"
      >
        Skip to the content
      </a>
      <Sidebar onSearch={() => setPalette(true)} onHelp={() => setHelp(true)} />
      <TopBar onSearch={() => setPalette(true)} />
      <StreamBanner />
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto max-w-7xl px-4 pt-4 pb-24 outline-none md:px-6 md:pt-6 md:pb-10"
      >
        <Outlet key={chosenTenant()} />
      </main>
      <BottomBar />
      <CommandPalette open={palette} onClose={() => setPalette(false)} />
      <KeyboardHelp open={help} onClose={() => setHelp(false)} />
    </div>
  );
}

/** Another page is another document to whoever listens to it: reading goes on at its top, not where the link was. */
function useFocusOnArrival(): void {
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [pathname]);
}
