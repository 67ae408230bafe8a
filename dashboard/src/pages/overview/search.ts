// What the charts show, as it stands in the URL.
export interface OverviewSearch {
  step?: 'hour';
  queue?: string;
}

export function readOverviewSearch(raw: Record<string, unknown>): OverviewSearch {
  const search: OverviewSearch = {};
  if (raw['step'] === 'hour') search.step = 'hour';
  if (typeof raw['queue'] === 'string' && raw['queue'] !== '') search.queue = raw['queue'];
  return search;
}
