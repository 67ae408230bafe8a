// Who the server takes this browser for, and what it may do.
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { restartStreams } from '@/live/live';
import { answer, client } from './client';
import type { Scope, Whoami } from './documents';
import { keys } from './keys';
import { chooseTenant } from './tenant';

export const whoamiQuery = queryOptions({
  queryKey: keys.whoami,
  queryFn: ({ signal }) => answer(client.GET('/api/v1/whoami', { signal })),
  staleTime: 60_000,
  retry: false,
});

export function useWhoami() {
  return useQuery(whoamiQuery);
}

export function allows(who: Whoami | undefined, scope: Scope): boolean {
  return who !== undefined && (who.scopes.includes(scope) || who.scopes.includes('admin'));
}

/** Whether a control that needs the scope is of any use to whoever looks. */
export function useAllows(scope: Scope): boolean {
  return allows(useWhoami().data, scope);
}

/** An operator sees every tenant; `dev` without keys is one too. */
export function useIsOperator(): boolean {
  return useAllows('admin');
}

/** Swaps a key for a cookie that no script can read. */
export function useSignIn() {
  const cache = useQueryClient();
  return useMutation({
    // The key is forgotten as soon as it is swapped.
    gcTime: 0,
    mutationFn: (key: string) => answer(client.POST('/api/v1/session', { body: { key } })),
    onSuccess: (who) => {
      chooseTenant(null);
      restartStreams();
      // All but the answer to who one is: whoever shows that is watching it, and would go on watching what was cleared.
      cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.whoami[0] });
      cache.setQueryData(keys.whoami, who);
    },
  });
}

export function useSignOut() {
  return useMutation({
    mutationFn: () => answer(client.DELETE('/api/v1/session')),
    onSuccess: () => {
      chooseTenant(null);
      restartStreams();
      // A fresh page: nothing of what was seen stays in memory.
      location.assign('/sign-in');
    },
  });
}
