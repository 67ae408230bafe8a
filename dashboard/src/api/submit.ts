// Making a job from text, so that what a person typed reaches the server to the letter.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { heard } from '@/live/heard';
import { answer, client } from './client';
import type { Job, JobSpec } from './documents';
import { keys } from './keys';

export interface Submission {
  spec: JobSpec;
  /** The same as JSON text. */
  text: string;
}

export function useSubmitText() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ spec, text }: Submission) =>
      answer(client.POST('/api/v1/jobs', { body: spec, bodySerializer: () => text, params: {} })),
    onSuccess: (job) => {
      // Never older than what the stream has told meanwhile, of which most came before there was anything to patch.
      cache.setQueryData(
        keys.jobs.one(job.id),
        (known: Job | undefined) => known ?? heard.reconcile(job as Job),
      );
      return cache.invalidateQueries({ queryKey: keys.jobs.lists });
    },
  });
}
