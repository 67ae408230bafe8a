// Tenants and their keys, for operators.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answer, client } from './client';
import type { NewKey } from './documents';
import { keys } from './keys';

export function useTenants(enabled = true) {
  return useQuery({
    queryKey: keys.tenants.list,
    queryFn: ({ signal }) =>
      answer(client.GET('/api/v1/tenants', { params: { query: { limit: 500 } }, signal })),
    enabled,
    staleTime: 60_000,
  });
}

export function useTenantKeys(tenant: string, cursor?: string) {
  return useQuery({
    queryKey: keys.tenants.keys(tenant, cursor),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/tenants/{tenant}/keys', {
          params: { path: { tenant }, query: { limit: 100, ...(cursor ? { cursor } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function useCreateTenant() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => answer(client.POST('/api/v1/tenants', { body: { id } })),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.tenants.all }),
  });
}

/** The answer shows the key, once; nothing of it stays in memory. */
export function useMakeKey(tenant: string) {
  const cache = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: (key: NewKey) =>
      answer(client.POST('/api/v1/tenants/{tenant}/keys', { params: { path: { tenant } }, body: key })),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.tenants.all }),
  });
}

export function useRevokeKey(tenant: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (key: string) =>
      answer(client.DELETE('/api/v1/tenants/{tenant}/keys/{key}', { params: { path: { tenant, key } } })),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.tenants.all }),
  });
}

/** The answer shows the new key, once; nothing of it stays in memory. */
export function useRotateKey(tenant: string) {
  const cache = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: ({ key, grace }: { key: string; grace?: string }) =>
      answer(
        client.POST('/api/v1/tenants/{tenant}/keys/{key}/rotate', {
          params: { path: { tenant, key } },
          body: grace === undefined ? {} : { grace },
        }),
      ),
    onSettled: () => cache.invalidateQueries({ queryKey: keys.tenants.all }),
  });
}
