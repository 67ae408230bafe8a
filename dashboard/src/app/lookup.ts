// What somebody means by what they wrote into the search box.
import { isState } from '@/api/documents';

export type LookupField = 'id' | 'tag' | 'correlation_id' | 'queue' | 'kind' | 'state';

export interface Lookup {
  field: LookupField;
  value: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const PREFIXES: Record<string, LookupField> = {
  id: 'id',
  job: 'id',
  tag: 'tag',
  correlation: 'correlation_id',
  correlation_id: 'correlation_id',
  queue: 'queue',
  kind: 'kind',
  state: 'state',
};

/** The likeliest meaning first; nothing for an empty box. */
export function readSearch(text: string): Lookup[] {
  const written = text.trim();
  if (written === '') return [];
  const colon = written.indexOf(':');
  const field = colon > 0 ? PREFIXES[written.slice(0, colon).toLowerCase()] : undefined;
  if (field !== undefined) {
    const value = written.slice(colon + 1).trim();
    if (value === '' || (field === 'state' && !isState(value))) return [];
    return [{ field, value }];
  }
  if (UUID.test(written)) return [{ field: 'id', value: written.toLowerCase() }];
  if (isState(written)) return [{ field: 'state', value: written }];
  return [
    { field: 'tag', value: written },
    { field: 'correlation_id', value: written },
    { field: 'kind', value: written },
    { field: 'queue', value: written },
  ];
}
