// Webhooks: endpoints, their deliveries, and what can be done to them.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answer, client } from './client';
import type { Delivery, Page, WebhookPatch, WebhookSpec } from './documents';
import { keys } from './keys';

export function useWebhooks(cursor?: string) {
  return useQuery({
    queryKey: keys.webhooks.list(cursor),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/webhooks', {
          params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function useWebhook(webhook: string) {
  return useQuery({
    queryKey: keys.webhooks.one(webhook),
    queryFn: ({ signal }) =>
      answer(client.GET('/api/v1/webhooks/{webhook}', { params: { path: { webhook } }, signal })),
  });
}

export function useDeliveries(webhook: string, cursor?: string) {
  return useQuery({
    queryKey: keys.webhooks.deliveries(webhook, cursor),
    queryFn: async ({ signal }) => {
      const page = await answer(
        client.GET('/api/v1/webhooks/{webhook}/deliveries', {
          params: { path: { webhook }, query: { limit: 50, ...(cursor ? { cursor } : {}) } },
          signal,
        }),
      );
      return page as Page<Delivery>;
    },
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
}

/** One with the job that carries it: the message, and what was answered at each try. */
export function useDelivery(webhook: string, delivery: string) {
  return useQuery({
    queryKey: [...keys.webhooks.one(webhook), 'delivery', delivery],
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/webhooks/{webhook}/deliveries/{delivery}', {
          params: { path: { webhook, delivery } },
          signal,
        }),
      ),
  });
}

function useWebhookMutation<In, Out>(mutationFn: (input: In) => Promise<Out>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn,
    // Some answers hold a secret: nothing of them stays in memory.
    gcTime: 0,
    onSettled: () => cache.invalidateQueries({ queryKey: keys.webhooks.all }),
  });
}

/** The answer shows the secret, once. */
export function useCreateWebhook() {
  return useWebhookMutation((spec: WebhookSpec) => answer(client.POST('/api/v1/webhooks', { body: spec })));
}

export function usePatchWebhook(webhook: string) {
  return useWebhookMutation((patch: WebhookPatch) =>
    answer(client.PATCH('/api/v1/webhooks/{webhook}', { params: { path: { webhook } }, body: patch })),
  );
}

export function useDeleteWebhook() {
  return useWebhookMutation((webhook: string) =>
    answer(client.DELETE('/api/v1/webhooks/{webhook}', { params: { path: { webhook } } })),
  );
}

export function useTestWebhook() {
  return useWebhookMutation((webhook: string) =>
    answer(client.POST('/api/v1/webhooks/{webhook}/test', { params: { path: { webhook } } })),
  );
}

/** The answer shows the new secret, once. */
export function useRotateWebhookSecret() {
  return useWebhookMutation(({ webhook, overlap }: { webhook: string; overlap?: string }) =>
    answer(
      client.POST('/api/v1/webhooks/{webhook}/rotate-secret', {
        params: { path: { webhook } },
        body: overlap === undefined ? {} : { overlap },
      }),
    ),
  );
}

export function useResend(webhook: string) {
  return useWebhookMutation((delivery: string) =>
    answer(
      client.POST('/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend', {
        params: { path: { webhook, delivery } },
      }),
    ),
  );
}
