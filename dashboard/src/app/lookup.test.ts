import { describe, expect, it } from 'vitest';
import { readSearch } from './lookup';

const ID = '01a1e179-2ff7-7602-a29c-6d26d5c1ffaf';

describe('what is written into the search box', () => {
  it.each([
    [ID, 'id', ID],
    [`  ${ID.toUpperCase()} `, 'id', ID],
    ['tag:eu', 'tag', 'eu'],
    ['Tag: eu', 'tag', 'eu'],
    ['correlation:order-7', 'correlation_id', 'order-7'],
    ['queue:mail', 'queue', 'mail'],
    ['kind:a:b', 'kind', 'a:b'],
    ['dead', 'state', 'dead'],
  ])('%s means %s %s', (text, field, value) => {
    expect(readSearch(text)).toEqual([{ field, value }]);
  });

  it('may be several things when it has no name', () => {
    expect(readSearch('order-7').map(({ field }) => field)).toEqual([
      'tag',
      'correlation_id',
      'kind',
      'queue',
    ]);
  });

  it('means nothing when it is empty, or a state that there is not', () => {
    expect([readSearch('  '), readSearch('tag:'), readSearch('state:sleepy')]).toEqual([[], [], []]);
  });
});
