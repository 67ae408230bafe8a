// Making a schedule, and seeing it fire.

import { expect, test } from './stage/test';
import { until } from './stage/until';

test('a schedule is made with a live preview, and is seen to fire', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  const person = await stage.person(foreman);
  const page = await person.open('/schedules');
  await page
    .getByRole('button', { name: /new schedule/i })
    .or(page.getByRole('link', { name: /new schedule/i }))
    .first()
    .click();
  await page.getByLabel(/^name/i).fill('every-second');
  // Wrong first: it is said while one types, and nothing is made.
  await page.getByLabel(/^cron/i).fill('* * * *');
  await page.getByText(/cron/i).first().waitFor();
  await page.getByLabel(/^cron/i).fill('* * * * * *');
  await page
    .getByText(/every second/i)
    .first()
    .waitFor();
  await page.getByLabel(/^url/i).fill(target.url);
  await page.getByRole('button', { name: /^create/i }).click();
  await until('it fires', () => target.calls >= 2);
  await page.getByText('every-second').first().click();
  await page.getByText(/fired/i).first().waitFor();
  expect(page.url()).toContain('/schedules/');
});
