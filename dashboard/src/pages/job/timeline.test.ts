import { describe, expect, it } from 'vitest';
import type { Attempt } from '@/api/documents';
import { job } from '@/testing/server';
import { steps } from './timeline';

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 15, 12, 0, seconds)).toISOString();

function attempt(number: number, from: number, to: number | null, outcome: Attempt['outcome']): Attempt {
  return { number, started_at: at(from), finished_at: to === null ? null : at(to), outcome };
}

describe('the timeline', () => {
  it('tells waits and tries in order, and when the next one comes', () => {
    const line = steps(
      job({
        state: 'retrying',
        attempt: 2,
        created_at: at(0),
        run_at: at(90),
        attempts: [attempt(2, 15, 16, 'retry'), attempt(1, 2, 5, 'retry')],
      }),
    );
    expect(line.map((step) => (step.type === 'wait' ? `${step.why} ${step.ms}` : step.type))).toEqual([
      'created',
      'queue 2000',
      'attempt',
      'retry 10000',
      'attempt',
      'next',
    ]);
    expect(line.at(-1)).toEqual({ type: 'next', at: at(90) });
    expect(line.filter((step) => step.type === 'attempt' && step.isLast)).toHaveLength(1);
  });

  it('has no next try while one runs, or when it is over', () => {
    const running = job({ state: 'running', created_at: at(0), attempts: [attempt(1, 1, null, null)] });
    const over = job({ state: 'dead', created_at: at(0), attempts: [attempt(1, 1, 2, 'dead')] });
    expect(steps(running).at(-1)?.type).toBe('attempt');
    expect(steps(over).at(-1)?.type).toBe('attempt');
  });
});
