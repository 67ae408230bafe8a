// The list's filters and its place in the pages, as they stand in the URL: whoever gets the link sees the same.
import { isState, type JobFilter, type State } from '@/api/documents';

export interface JobsSearch {
  state?: State;
  queue?: string;
  kind?: string;
  tag?: string;
  correlation_id?: string;
  error_group?: string;
  created_after?: string;
  created_before?: string;
  cursor?: string;
}

const TEXTS = ['queue', 'kind', 'tag', 'correlation_id', 'error_group', 'cursor'] as const;
const TIMES = ['created_after', 'created_before'] as const;

/** What does not make sense is left out, so that a mistyped link still opens. */
export function readJobsSearch(raw: Record<string, unknown>): JobsSearch {
  const search: JobsSearch = {};
  if (typeof raw['state'] === 'string' && isState(raw['state'])) search.state = raw['state'];
  for (const name of TEXTS) {
    const value = raw[name];
    if (typeof value === 'string' && value !== '') search[name] = value;
  }
  for (const name of TIMES) {
    const value = raw[name];
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) search[name] = value;
  }
  return search;
}

export function filterOf(search: JobsSearch): JobFilter {
  const filter = { ...search };
  delete filter.cursor;
  return filter;
}

export function isFiltered(search: JobsSearch): boolean {
  return Object.keys(filterOf(search)).length > 0;
}
