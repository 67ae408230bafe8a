// Light, dark, or as the system has it.
import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'foreman.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const watchers = new Set<() => void>();
let theme: Theme = read();

function read(): Theme {
  const kept = localStorage.getItem(NAME);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

function apply(): void {
  document.documentElement.dataset['theme'] = shown();
  for (const changed of watchers) changed();
}

function shown(): 'light' | 'dark' {
  if (theme !== 'system') return theme;
  return dark.matches ? 'dark' : 'light';
}

export function setTheme(next: Theme): void {
  theme = next;
  if (next === 'system') localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, next);
  apply();
}

function watch(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function useTheme(): Theme {
  return useSyncExternalStore(watch, () => theme);
}

/** What is on the screen, for what cannot be drawn by a style sheet. */
export function useShownTheme(): 'light' | 'dark' {
  return useSyncExternalStore(watch, shown);
}

dark.addEventListener('change', apply);
addEventListener('storage', (event) => {
  if (event.key !== NAME) return;
  theme = read();
  apply();
});
apply();
