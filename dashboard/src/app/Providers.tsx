import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { keys } from '@/api/keys';
import { ApiError, isStatus } from '@/api/problem';
import { Toaster } from '@/components/Toaster';

export function makeCache(): QueryClient {
  const signedOut = (error: unknown) => {
    // Whatever was asked: if nobody knows us any more, the gate has to hear of it.
    if (isStatus(error, 401)) void cache.invalidateQueries({ queryKey: keys.whoami });
  };
  const cache: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (query.queryKey[0] !== keys.whoami[0]) signedOut(error);
      },
    }),
    mutationCache: new MutationCache({ onError: signedOut }),
    defaultOptions: {
      queries: {
        // The stream says when something is stale.
        staleTime: 5_000,
        refetchOnWindowFocus: false,
        // A refusal is an answer; asking again changes nothing.
        retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
  return cache;
}

export function Providers({ children }: { children: ReactNode }) {
  const [cache] = useState(makeCache);
  return (
    <QueryClientProvider client={cache}>
      {children}
      <Toaster />
    </QueryClientProvider>
  );
}
