// Dead jobs, gathered by what killed them.
import { useQuery } from '@tanstack/react-query';
import { answer, client } from './client';
import { keys } from './keys';

export function useDeadGroups() {
  return useQuery({
    queryKey: keys.dead.groups,
    queryFn: ({ signal }) => answer(client.GET('/api/v1/dead/groups', { signal })),
  });
}
