// Keys that work on every page, unless somebody is writing.
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import { PLACES } from './navigation';

export function isWriting(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export function useShortcuts({ onSearch, onHelp }: { onSearch: () => void; onHelp: () => void }): void {
  const navigate = useNavigate();
  const search = useEffectEvent(onSearch);
  const help = useEffectEvent(onHelp);
  useEffect(() => {
    let wentTo = 0;
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        search();
        return;
      }
      if (isWriting(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector('dialog[open]') !== null) return;
      if (event.key === '/') {
        event.preventDefault();
        search();
      } else if (event.key === '?') {
        help();
      } else if (event.key === 'g') {
        wentTo = event.timeStamp;
      } else if (event.timeStamp - wentTo < 1_000) {
        const place = PLACES.find(({ key }) => key === event.key);
        wentTo = 0;
        if (place === undefined) return;
        // `j` and `k` mean something else to a table.
        event.stopImmediatePropagation();
        void navigate({ to: place.to });
      }
    };
    addEventListener('keydown', pressed, { capture: true });
    return () => removeEventListener('keydown', pressed, { capture: true });
  }, [navigate]);
}
