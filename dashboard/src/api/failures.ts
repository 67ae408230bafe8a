// Jobs that failed or died, grouped by their errors.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { answer, client } from './client';
import type { FailureState } from './documents';
import { keys } from './keys';

/** Of one state, or of both. */
export function useFailureGroups(state: FailureState | undefined) {
  return useQuery({
    queryKey: keys.failures.groups(state),
    queryFn: ({ signal }) =>
      answer(
        client.GET('/api/v1/errors/groups', {
          params: { query: state === undefined ? {} : { state } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}
