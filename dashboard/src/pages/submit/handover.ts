// "Edit and run again": a page hands a job over to the form, in the state of the history's entry.
import { useLocation } from '@tanstack/react-router';
import type { Job, JobSpec } from '@/api/documents';

export interface Handover {
  /** What was asked for; the values of headers and variables are hidden in it. */
  spec: JobSpec | Job;
  /** The job that it was. */
  of?: string;
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    again?: Handover;
  }
}

/** For `navigate({ to: '/submit', state: runAgain(job) })`. */
export function runAgain(job: Job): { again: Handover } {
  // Its attempts may be long, and the form has no use for them.
  const { attempts: _, ...spec } = job;
  return { again: { spec, of: job.id } };
}

export function useHandover(): Handover | null {
  const again = useLocation({ select: ({ state }) => state.again });
  return again ?? null;
}
