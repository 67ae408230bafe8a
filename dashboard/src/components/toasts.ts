// Short news that goes away by itself. A failure stays until it is closed.
import { useSyncExternalStore } from 'react';
import { explain } from '@/api/problem';

export interface ToastMessage {
  id: number;
  tone: 'good' | 'bad';
  title: string;
  detail?: string | undefined;
  requestId?: string | null | undefined;
  action?: ToastAction | undefined;
}

/** Where to go from here. */
export interface ToastAction {
  label: string;
  run: () => void;
}

const STAYS_MS = 5_000;

let messages: ToastMessage[] = [];
let latest = 0;
const watchers = new Set<() => void>();

function set(next: ToastMessage[]): void {
  messages = next;
  for (const changed of watchers) changed();
}

export function dismiss(id: number): void {
  set(messages.filter((message) => message.id !== id));
}

export const toast = {
  done(title: string, detail?: string, action?: ToastAction): void {
    latest += 1;
    const id = latest;
    set([...messages.slice(-3), { id, tone: 'good', title, detail, action }]);
    setTimeout(() => dismiss(id), STAYS_MS);
  },
  failed(title: string, error: unknown): void {
    latest += 1;
    const { detail, requestId } = explain(error);
    set([...messages.slice(-3), { id: latest, tone: 'bad', title, detail, requestId }]);
  },
};

export function useToasts(): ToastMessage[] {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => messages,
  );
}
