// Making a job from text, so that what a person typed reaches the server to the letter.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { heard } from '@/live/heard';
import { answer, client } from './client';
import type { Job, JobSpec } from './documents';
import { keys } from './keys';
import { ApiError, Unreachable } from './problem';

export interface Submission {
  spec: JobSpec;
  /** The same as JSON text. */
  text: string;
}

/** `crypto.randomUUID` is there only over HTTPS or on localhost. */
function freshKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

export function useSubmitText() {
  const cache = useQueryClient();
  // What was sent without an answer: it may have arrived. The same again carries the same key, and makes no second job.
  const unanswered = useRef<{ text: string; key: string } | null>(null);
  return useMutation({
    mutationFn: ({ spec, text }: Submission) => {
      const key = unanswered.current?.text === text ? unanswered.current.key : freshKey();
      unanswered.current = { text, key };
      const header = typeof spec.idempotency_key === 'string' ? {} : { 'Idempotency-Key': key };
      return answer(
        client.POST('/api/v1/jobs', { body: spec, bodySerializer: () => text, params: { header } }),
      );
    },
    onError: (error) => {
      // A proxy may say that it got no answer, too.
      const mayHaveArrived =
        error instanceof Unreachable || (error instanceof ApiError && error.status >= 500);
      if (!mayHaveArrived) unanswered.current = null;
    },
    onSuccess: (job) => {
      unanswered.current = null;
      // Never older than what the stream has told meanwhile, of which most came before there was anything to patch.
      cache.setQueryData(
        keys.jobs.one(job.id),
        (known: Job | undefined) => known ?? heard.reconcile(job as Job),
      );
      return cache.invalidateQueries({ queryKey: keys.jobs.lists });
    },
  });
}
