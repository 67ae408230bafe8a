// Making a job in the browser, and seeing what becomes of it.

import { expect, test } from './stage/test';
import { rowOf } from './stage/words';

test('a job submitted in the form is seen to complete without a reload', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.hold();
  const person = await stage.person(foreman);
  const page = await person.open('/submit');
  let loads = 0;
  page.on('load', () => {
    loads += 1;
  });
  const form = page.getByRole('main');
  await form.getByLabel('URL', { exact: true }).fill(target.url);
  await form.getByLabel('Queue', { exact: true }).fill('letters');
  // What one would type instead, with what was filled in.
  const [request, line] = [/^the http request/i, /^the command line/i].map((name) =>
    form.getByRole('region', { name }),
  );
  await expect.poll(() => request?.textContent()).toMatch(new RegExp(`${target.url}[^]*letters`));
  await expect.poll(() => line?.textContent()).toMatch(/^foreman submit [^]*--queue letters/);

  await form.getByRole('button', { name: 'Submit', exact: true }).click();
  const submitted = form.getByRole('listitem').filter({ has: page.locator('a[href^="/jobs/"]') });
  await submitted.getByText('running', { exact: true }).waitFor();
  target.release();
  await submitted.getByText('completed', { exact: true }).waitFor();

  await submitted.getByRole('link').click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/);
  await page.getByRole('main').getByText('completed', { exact: true }).first().waitFor();
  expect(loads).toBe(0);
  expect(target.calls).toBe(1);
});

test('a job that the server refuses is said to be wrong where it is wrong', async ({ stage }) => {
  const foreman = await stage.foreman();
  const person = await stage.person(foreman);
  person.expects(/status of 4(00|22)/);
  const page = await person.open('/submit');
  const url = page.getByRole('main').getByLabel('URL', { exact: true });
  await url.fill('ftp://127.0.0.1/');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect.poll(() => url.getAttribute('aria-invalid')).toBe('true');
  await url.fill(foreman.api.echo);
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('main').getByText('completed', { exact: true }).waitFor();
});

test('a job that somebody else submits appears in the table and completes there', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.hold();
  const person = await stage.person(foreman);
  const page = await person.open('/jobs');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const job = await foreman.api.submit({ url: target.url });
  await rowOf(page, job.id).getByText('running', { exact: true }).waitFor();
  target.release();
  await rowOf(page, job.id).getByText('completed', { exact: true }).waitFor();
});
