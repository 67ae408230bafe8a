import { useCallback, useMemo, useState } from 'react';

export interface Selection {
  count: number;
  isAllMatching: boolean;
  has: (id: string) => boolean;
  /** With `through`, everything between the row that was last pressed and this one. */
  toggle: (id: string, order: string[], through: boolean) => void;
  set: (ids: string[]) => void;
  selectAllMatching: () => void;
  clear: () => void;
}

interface State {
  scope: string;
  ids: ReadonlySet<string>;
  isAllMatching: boolean;
  last: string | null;
}

function none(scope: string): State {
  return { scope, ids: new Set(), isAllMatching: false, last: null };
}

/** What is selected among one filter's rows; another filter begins with nothing. */
export function useSelection(scope: string): Selection {
  const [kept, setState] = useState<State>(() => none(scope));
  const state = kept.scope === scope ? kept : none(scope);
  if (state !== kept) setState(state);

  const toggle = useCallback((id: string, order: string[], through: boolean) => {
    setState((before) => {
      const ids = new Set(before.ids);
      const wanted = !ids.has(id);
      for (const each of through ? between(order, before.last, id) : [id]) {
        if (wanted) ids.add(each);
        else ids.delete(each);
      }
      return { ...before, ids, isAllMatching: false, last: id };
    });
  }, []);
  const set = useCallback(
    (ids: string[]) => setState((before) => ({ ...before, ids: new Set(ids), isAllMatching: false })),
    [],
  );
  const selectAllMatching = useCallback(() => setState((before) => ({ ...before, isAllMatching: true })), []);
  const clear = useCallback(() => setState((before) => none(before.scope)), []);
  return useMemo(
    () => ({
      count: state.ids.size,
      isAllMatching: state.isAllMatching,
      has: (id) => state.ids.has(id),
      toggle,
      set,
      selectAllMatching,
      clear,
    }),
    [state, toggle, set, selectAllMatching, clear],
  );
}

function between(order: string[], from: string | null, to: string): string[] {
  const start = from === null ? -1 : order.indexOf(from);
  const end = order.indexOf(to);
  if (start === -1 || end === -1) return [to];
  return order.slice(Math.min(start, end), Math.max(start, end) + 1);
}
