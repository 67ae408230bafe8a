import { describe, expect, it } from 'vitest';
import { parseSearch, stringifySearch } from '@/app/search';
import { filterOf, isFiltered, readJobsSearch, type JobsSearch } from './search';

describe('filters in the URL', () => {
  it('come back as they went, with no JSON in it', () => {
    const search: JobsSearch = {
      state: 'dead',
      queue: '123',
      tag: 'a&b=c d',
      correlation_id: 'true',
      created_after: '2026-11-15T12:00:00.000Z',
      cursor: '0-01a1',
    };
    const text = stringifySearch({ ...search, kind: undefined });
    expect(text).toMatch(/^\?state=dead&queue=123&tag=a%26b%3Dc\+d&correlation_id=true/);
    expect(readJobsSearch(parseSearch(text))).toEqual(search);
  });

  it('are left out where they make no sense, so that a mistyped link still opens', () => {
    const raw = parseSearch('?state=sleepy&queue=&created_after=yesterday&colour=red&tag=eu');
    expect(readJobsSearch(raw)).toEqual({ tag: 'eu' });
  });

  it('are what the server is asked for; the place in the pages is not one of them', () => {
    const search = readJobsSearch(parseSearch('?error_group=00ff&cursor=x'));
    expect(filterOf(search)).toEqual({ error_group: '00ff' });
    expect(isFiltered({ cursor: 'x' })).toBe(false);
  });
});
