// Who may see what: signing in and out, keys that end, and tenants that never meet.

import type { Page } from 'playwright-core';
import { ADMIN_KEY } from './stage/foreman';
import { expect, test } from './stage/test';
import { idsIn, rowOf } from './stage/words';

/** The browser writes each refused request to its console. */
const REFUSED = /status of 40[134]/;

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('a wrong key is refused, a right one opens, and signing out closes', async ({ stage }) => {
  const foreman = await stage.foreman({ keys: true });
  const { key } = await foreman.api.tenant('red');
  const person = await stage.person(foreman);
  person.expects(REFUSED);
  const page = await person.open('/jobs?queue=letters');
  await page.waitForURL(/\/sign-in/);
  await signIn(page, 'fm_this-is-no-key-of-anybody');
  await page.getByRole('alert').waitFor();
  expect(page.url()).toContain('/sign-in');

  await signIn(page, key);
  // Where one wanted to go.
  await page.waitForURL(/\/jobs\?.*queue=letters/);
  await page.getByRole('heading', { level: 1, name: /jobs/i }).waitFor();
  const cookies = await person.context.cookies();
  expect(cookies).toMatchObject([{ name: 'foreman_session', httpOnly: true, sameSite: 'Strict', path: '/' }]);
  expect(cookies[0]?.value, 'the key itself is in no cookie').not.toContain(key);
  expect(
    await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })),
  ).not.toContain(key);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/\/sign-in/);
  expect(await person.context.cookies()).toEqual([]);
  await page.goto('/jobs');
  await page.waitForURL(/\/sign-in/);
});

test('whoever looks on with a key that is revoked lands on the sign-in page', async ({ stage }) => {
  const foreman = await stage.foreman({ keys: true });
  const { key, id } = await foreman.api.tenant('red');
  const person = await stage.person(foreman);
  person.expects(REFUSED);
  const page = await person.open('/jobs');
  await signIn(page, key);
  const job = await foreman.api.as(key).submit({});
  await rowOf(page, job.id).waitFor();
  await foreman.api.call('DELETE', `/tenants/red/keys/${id}`);
  await page.waitForURL(/\/sign-in/, { timeout: 60_000 });
  await expect.poll(() => page.getByText(job.id.slice(-8)).count()).toBe(0);
});

test('two tenants never see each other', async ({ stage }) => {
  const foreman = await stage.foreman({ keys: true });
  const red = await foreman.api.tenant('red');
  const blue = await foreman.api.tenant('blue');
  const [one, other] = [await stage.person(foreman), await stage.person(foreman)];
  for (const person of [one, other]) person.expects(REFUSED);
  const [reds, blues] = [await one.open('/jobs'), await other.open('/jobs')];
  await signIn(reds, red.key);
  await signIn(blues, blue.key);
  await reds.getByRole('heading', { level: 1, name: /jobs/i }).waitFor();
  await blues.getByRole('heading', { level: 1, name: /jobs/i }).waitFor();

  // Both watch while both get jobs.
  const ofRed = await foreman.api.as(red.key).submit({ queue: 'same', kind: 'red-letter' });
  const ofBlue = await foreman.api.as(blue.key).submit({ queue: 'same', kind: 'blue-letter' });
  await rowOf(reds, ofRed.id).getByText('completed', { exact: true }).waitFor();
  await rowOf(blues, ofBlue.id).getByText('completed', { exact: true }).waitFor();
  expect(await idsIn(reds)).toEqual([ofRed.id]);
  expect(await idsIn(blues)).toEqual([ofBlue.id]);

  // Nor by knowing where to look.
  await reds.goto(`/jobs/${ofBlue.id}`);
  await reds
    .getByText(/not found|no such job|there is no job/i)
    .first()
    .waitFor();
  for (const path of ['/', '/dead', '/schedules', '/queues', '/webhooks', `/jobs?kind=blue-letter`]) {
    await reds.goto(path);
    await reds.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => reds.getByRole('status', { name: /^loading/i }).count()).toBe(0);
    expect(await idsIn(reds)).not.toContain(ofBlue.id);
    expect(await reds.locator('main').innerText()).not.toContain(ofBlue.id.slice(-8));
  }
});

test('an administrator makes a key, sees it once, and it opens', async ({ stage }) => {
  const foreman = await stage.foreman({ keys: true });
  const person = await stage.person(foreman);
  person.expects(REFUSED);
  const page = await person.open('/keys');
  await signIn(page, ADMIN_KEY);
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.getByRole('button', { name: 'New key' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New key' });
  await dialog.getByLabel('Name').fill('shop backend');
  await dialog.getByRole('button', { name: 'Create' }).click();

  const made = page.getByRole('dialog', { name: 'Key created' });
  const key = /fm_\w+/.exec(await made.innerText())?.[0] ?? '';
  expect(key).not.toBe('');
  await page.reload();
  await page.getByRole('row').filter({ hasText: 'shop backend' }).waitFor();
  expect(await page.content(), 'it is shown once').not.toContain(key);

  const holder = await stage.person(foreman);
  holder.expects(REFUSED);
  const theirs = await holder.open('/jobs');
  await signIn(theirs, key);
  await theirs.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  // It opens what a tenant has, and not what an operator has.
  await expect.poll(() => theirs.getByRole('link', { name: 'Keys' }).count()).toBe(0);
});
