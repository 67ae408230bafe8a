import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/documents';
import { PAGE } from '@/api/jobs';
import { job } from '@/testing/server';
import { settle, told } from './still';

const KEY = 'all';
const full = Array.from({ length: PAGE }, () => job());

function answer(items: Job[], next: string | null = 'after', flows = false) {
  return { key: KEY, page: { items, next }, flows };
}

describe('a page of jobs', () => {
  it('keeps its rows where they are when others arrive, and says how many', () => {
    const before = settle(null, answer(full, 'cursor-1'));
    const after = settle(before, answer([job(), job(), ...full], 'cursor-2', true));
    expect(after.rows.map(({ id }) => id)).toEqual(full.map(({ id }) => id));
    expect(after.waiting).toBe(2);
    expect(after.next, 'the page after these rows is still the page after these rows').toBe('cursor-1');
  });

  it('changes the states of the rows it has', () => {
    const before = settle(null, answer(full));
    const moved = full.map((row, at) =>
      at === 3 ? { ...row, state: 'running' as const, sequence: 2 } : row,
    );
    const after = settle(before, answer(moved));
    expect(after.rows[3]?.state).toBe('running');
    expect(after.rows[4]).toBe(before.rows[4]);
  });

  it('keeps a row that the filter no longer has, as it was last heard of', () => {
    const before = settle(null, answer(full));
    const gone = full[0];
    if (gone === undefined) throw new Error('the page has rows');
    const after = settle(before, answer([...full.slice(1), job()]));
    expect(after.rows[0]).toBe(gone);
    const event = {
      id: gone.id,
      state: 'completed' as const,
      queue: 'mail',
      attempt: 1,
      at: 'then',
      sequence: 3,
    };
    expect(told(after, [{ name: 'job', data: event }])?.rows[0]?.state).toBe('completed');
  });

  it('does not count older rows that came up from below', () => {
    const before = settle(null, answer(full));
    expect(settle(before, answer([...full.slice(1), job(), job()])).waiting).toBe(0);
  });

  it('is the same object when nothing changed, however often it is asked', () => {
    const before = settle(null, answer(full));
    expect(settle(before, answer(full))).toBe(before);
    const empty = settle(null, answer([], null));
    expect(settle(empty, answer([], null))).toBe(empty);
  });

  it('lets rows in by themselves while it is not full and nobody has a hand on it', () => {
    const few = settle(null, answer([job()], null));
    const more = answer([job(), ...few.rows], null, true);
    expect(settle(few, more).rows).toHaveLength(2);
    expect(settle(few, { ...more, flows: false })).toMatchObject({ waiting: 1, rows: few.rows });
  });

  it('shows the first row of an empty list at once, though somebody has a hand on it', () => {
    const empty = settle(null, answer([], null));
    expect(settle(empty, answer([job()], null)).rows).toHaveLength(1);
  });

  it('begins anew with another filter', () => {
    const before = settle(null, answer(full));
    const other = [job()];
    expect(settle(before, { key: 'dead', page: { items: other, next: null }, flows: false }).rows).toEqual(
      other,
    );
  });
});
