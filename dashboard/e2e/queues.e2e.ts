// Pausing a queue, and what waits in it.

import { expect, test } from './stage/test';
import { rowOf } from './stage/words';

test('a paused queue keeps its jobs waiting, and resumed it runs them', async ({ stage }) => {
  const foreman = await stage.foreman();
  const first = await foreman.api.submit({ queue: 'letters' });
  await foreman.api.reaches(first.id, 'completed');
  const person = await stage.person(foreman);
  const page = await person.open('/queues');
  const queue = page.getByRole('row').filter({ hasText: 'letters' });
  await queue.getByRole('button', { name: 'Pause letters' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await queue.getByText('paused', { exact: true }).waitFor();

  const waiting = await Promise.all([1, 2, 3].map(() => foreman.api.submit({ queue: 'letters' })));
  const passes = await foreman.api.submit({ queue: 'parcels' });
  await foreman.api.reaches(passes.id, 'completed');
  const jobs = await person.open('/jobs?queue=letters');
  for (const { id } of waiting) await rowOf(jobs, id).getByText('pending', { exact: true }).waitFor();
  for (const { id } of waiting) expect((await foreman.api.job(id)).state).toBe('pending');

  await expect.poll(() => queue.getByRole('cell').nth(1).innerText()).toBe('3');

  await queue.getByRole('button', { name: 'Resume letters' }).click();
  // In the other tab, by itself.
  for (const { id } of waiting) await rowOf(jobs, id).getByText('completed', { exact: true }).waitFor();
});
