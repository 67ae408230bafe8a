// Which failures are shown, as it stands in the URL.
import type { FailureState } from '@/api/documents';

export interface DeadSearch {
  state?: FailureState;
}

export function readDeadSearch(raw: Record<string, unknown>): DeadSearch {
  const { state } = raw;
  return state === 'failed' || state === 'dead' ? { state } : {};
}
