// Making a schedule, and seeing it fire.

import { expect, test } from './stage/test';
import { until } from './stage/until';

test('a schedule is made with a live preview, and is seen to fire', async ({ stage }) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  const person = await stage.person(foreman);
  person.expects(/status of 4(00|22)/);
  const page = await person.open('/schedules');
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New schedule' });
  const preview = dialog.getByRole('region', { name: 'Preview' });
  const cron = dialog.getByLabel('Cron');
  await dialog.getByLabel('Name', { exact: true }).fill('every-second');

  // Wrong first: that is said while one types.
  await cron.fill('61 * * * *');
  await expect.poll(() => cron.getAttribute('aria-invalid')).toBe('true');
  await cron.fill('30 2 * * *');
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  await preview.getByText(/02:30/).first().waitFor();
  await expect.poll(() => preview.getByRole('listitem').count()).toBe(5);
  await cron.fill('* * * * * *');
  await preview
    .getByText(/every second/i)
    .first()
    .waitFor();
  expect(await cron.getAttribute('aria-invalid')).toBeNull();
  await dialog.getByLabel('URL', { exact: true }).fill(target.url);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.waitFor({ state: 'hidden' });

  await page.getByRole('table', { name: 'Schedules' }).getByRole('link', { name: 'every-second' }).click();
  await page.getByRole('heading', { level: 1, name: /every-second/ }).waitFor();
  await until('it fires', () => target.calls >= 2);
  // Its history grows by itself.
  const history = page.getByRole('table', { name: 'Past fires' });
  await expect.poll(() => history.getByText('completed', { exact: true }).count()).toBeGreaterThan(2);

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page
    .getByRole('heading', { level: 1 })
    .getByText(/paused/i)
    .waitFor();
  const { state } = await foreman.api.get<{ state: string }>('/schedules/every-second');
  expect(state).toBe('paused');
});
