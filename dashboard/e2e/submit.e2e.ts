// Making a job in the browser, and seeing what becomes of it.

import { expect, test } from './stage/test';

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
  await page.getByLabel(/^url/i).fill(target.url);
  await page.getByLabel(/^queue/i).fill('letters');
  // What one would type instead, with what was filled in.
  await expect.poll(() => page.getByText('curl').first().textContent()).toContain(target.url);
  await page.getByRole('button', { name: /^submit/i }).click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/);
  await page
    .getByText(/running/i)
    .first()
    .waitFor();
  target.release();
  await page
    .getByText(/completed/i)
    .first()
    .waitFor();
  expect(loads).toBe(0);
  expect(target.calls).toBe(1);
});

test('a job that somebody else submits appears in the table and completes there', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.hold();
  const person = await stage.person(foreman);
  const page = await person.open('/jobs');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const job = await foreman.api.submit({ url: target.url });
  const row = page.getByRole('row').filter({ hasText: job.id.slice(-8) });
  await row.getByText(/running/i).waitFor();
  target.release();
  await row.getByText(/completed/i).waitFor();
});
