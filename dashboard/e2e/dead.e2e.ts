// The dead letters: many equal failures are one line, and what is done is done to all of them.

import { expect, test } from './stage/test';
import { idsIn } from './stage/words';

test('equal failures are one line, and are retried together', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.answers(503);
  const refused = await Promise.all([1, 2, 3].map(() => foreman.api.dead({ url: target.url })));
  const other = await foreman.api.dead({ url: foreman.api.status(500) });
  target.answers(200);

  const person = await stage.person(foreman);
  const page = await person.open('/dead');
  const groups = page.getByRole('main').getByRole('listitem').filter({ hasText: 'queue default' });
  await expect.poll(() => groups.count()).toBe(2);
  const group = groups.filter({ hasText: /\b503\b/ });
  await group.getByText('3', { exact: true }).waitFor();
  await group.getByRole('button', { expanded: false }).click();
  await expect.poll(() => idsIn(page)).toEqual(refused.map(({ id }) => id).toSorted());

  await group.getByRole('button', { name: 'Retry all' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('3 jobs', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Retry 3 jobs' }).click();
  for (const { id } of refused) await foreman.api.reaches(id, 'completed');
  expect((await foreman.api.job(other.id)).state).toBe('dead');
  // They leave by themselves.
  await expect.poll(() => groups.count()).toBe(1);
});

test('jobs that failed at once are there too, by themselves or beside the dead', async ({ stage }) => {
  const foreman = await stage.foreman();
  await foreman.api.dead({ url: foreman.api.status(500) });
  const { id } = await foreman.api.submit({ url: foreman.api.status(404) });
  await foreman.api.reaches(id, 'failed');

  const person = await stage.person(foreman);
  const page = await person.open('/');
  const attention = page.getByRole('link', { name: /1 job failed in the last hour/ });
  await attention.waitFor();
  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: /Dead letters\s*2/ })
    .waitFor();
  await attention.click();
  await page.waitForURL(/\/dead\?state=failed$/);
  const groups = page.getByRole('main').getByRole('listitem').filter({ hasText: 'queue default' });
  await expect.poll(() => groups.count()).toBe(1);
  await groups.getByRole('button', { expanded: false }).click();
  await expect.poll(() => idsIn(page)).toEqual([id]);
  await page.getByRole('button', { name: 'Both' }).click();
  await expect.poll(() => groups.count()).toBe(2);
  await groups
    .filter({ hasText: /\b404\b/ })
    .getByRole('button', { name: 'Delete all' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 job' }).click();
  await expect.poll(() => groups.count()).toBe(1);
});
