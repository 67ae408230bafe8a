import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Soon } from './soon';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('reads again once, however often it was asked to', async () => {
  const cache = new QueryClient();
  const invalidated = vi.spyOn(cache, 'invalidateQueries');
  const soon = new Soon(cache);
  for (let event = 0; event < 100; event += 1) soon.invalidate(['jobs'], 1_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(invalidated).toHaveBeenCalledOnce();
});

it('reads again what was on its way for the first time when something changed', async () => {
  const cache = new QueryClient();
  const answers: ((value: string) => void)[] = [];
  const observer = new QueryObserver(cache, {
    queryKey: ['jobs'],
    queryFn: () => new Promise<string>((resolve) => void answers.push(resolve)),
  });
  const stop = observer.subscribe(() => undefined);
  new Soon(cache).invalidate(['jobs'], 1_000);
  await vi.advanceTimersByTimeAsync(1_500);
  expect(answers, 'nothing is asked for twice at once').toHaveLength(1);
  answers[0]?.('from before');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(answers).toHaveLength(2);
  answers[1]?.('from after');
  await vi.advanceTimersByTimeAsync(0);
  expect(observer.getCurrentResult().data).toBe('from after');
  stop();
});
