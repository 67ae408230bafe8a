// The table of jobs: what is filtered, shared, selected and done to many.

import { expect, test } from './stage/test';
import { idsIn, rowOf, tabTo } from './stage/words';
import { until } from './stage/until';

test('a filter lives in the URL, and whoever opens it sees the same rows', async ({ stage }) => {
  const foreman = await stage.foreman();
  const wanted = await Promise.all(
    [1, 2, 3].map(() => foreman.api.submit({ queue: 'letters', tags: ['spring'] })),
  );
  await Promise.all([1, 2].map(() => foreman.api.submit({ queue: 'letters' })));
  await Promise.all([1, 2].map(() => foreman.api.submit({ queue: 'parcels', tags: ['spring'] })));
  await Promise.all(wanted.map(({ id }) => foreman.api.reaches(id, 'completed')));
  const ids = wanted.map(({ id }) => id).toSorted();

  const one = await stage.person(foreman);
  const page = await one.open('/jobs');
  const filters = page.getByRole('search', { name: 'Filters' });
  await filters.getByLabel('Queue').fill('letters');
  await filters.getByLabel('Tag').fill('spring');
  await page.keyboard.press('Enter');
  await expect.poll(() => idsIn(page)).toEqual(ids);
  await page
    .getByRole('group', { name: 'State' })
    .getByRole('button', { name: /^completed/ })
    .click();
  await expect.poll(() => page.url()).toContain('completed');
  await expect.poll(() => idsIn(page)).toEqual(ids);

  const other = await stage.person(foreman);
  const shared = await other.open(page.url());
  await expect.poll(() => idsIn(shared)).toEqual(ids);
  await expect.poll(() => shared.getByLabel('Queue').inputValue()).toBe('letters');
});

test('the rare filters are folded away, and a link that has one opens them', async ({ stage }) => {
  const person = await stage.person(await stage.foreman());
  const page = await person.open('/jobs');
  const filters = page.getByRole('search', { name: 'Filters' });
  await filters.getByLabel('Tag').waitFor();
  await filters.getByLabel('Created after').waitFor({ state: 'hidden' });
  await filters.getByRole('button', { name: 'Filters' }).click();
  await filters.getByLabel('Correlation id').fill('order-7');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('order-7');

  const shared = await person.open(page.url());
  await shared.getByLabel('Created after').waitFor();
  expect(await shared.getByLabel('Correlation id').inputValue()).toBe('order-7');
});

test('a thousand dead jobs are retried at once, and the number is shown before', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.answers(500);
  const doomed = Array.from({ length: 1000 }, () => ({ url: target.url, max_attempts: 1, queue: 'doomed' }));
  await foreman.api.submitMany(doomed);
  const others = await foreman.api.dead({ queue: 'other' });
  const dead = async (state: string) => {
    const counted = await foreman.api.post<{ matched: number }>('/jobs/retry', {
      filter: { queue: 'doomed', state },
      dry_run: true,
    });
    return counted.matched;
  };
  await until('all of them are dead', async () => (await dead('dead')) === 1000);
  target.answers(200);

  const person = await stage.person(foreman);
  const page = await person.open('/jobs?state=dead&queue=doomed');
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  const toolbar = page.getByRole('toolbar');
  await toolbar.getByRole('button', { name: 'Select all matching' }).click();
  await toolbar.getByRole('button', { name: 'Retry' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1,000 jobs', { exact: true }).waitFor();
  expect(await dead('dead'), 'a preview does nothing').toBe(1000);
  await dialog.getByRole('button', { name: 'Retry 1,000 jobs' }).click();
  await until('all of them have completed', async () => (await dead('completed')) === 1000);
  expect((await foreman.api.job(others.id)).state, 'and no other').toBe('dead');
  expect(target.calls).toBe(2000);
});

test('a job is found, opened and retried by keyboard alone', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.answers(500);
  const job = await foreman.api.dead({ url: target.url });
  target.answers(200);
  const person = await stage.person(foreman);
  const page = await person.open('/jobs');
  await rowOf(page, job.id).waitFor();
  await tabTo(page, new RegExp(`^POST .*${job.id.slice(-8)}`));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/jobs/${job.id}`);
  await page.getByText('dead', { exact: true }).first().waitFor();
  await tabTo(page, /^Retry$/);
  await page.keyboard.press('Enter');
  await page.getByText('completed', { exact: true }).first().waitFor();
});

test('rows stay still under a hand, and what is new is a press away', async ({ stage }) => {
  const foreman = await stage.foreman();
  const old = await foreman.api.submit({});
  const person = await stage.person(foreman);
  const page = await person.open('/jobs');
  await rowOf(page, old.id).hover();
  const fresh = await foreman.api.submit({});
  const more = page.getByRole('button', { name: '1 new job' });
  await more.waitFor();
  expect(await idsIn(page)).toEqual([old.id]);
  await more.click();
  await rowOf(page, fresh.id).waitFor();
  await rowOf(page, old.id).waitFor();
});
