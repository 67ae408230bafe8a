// The stream: lost and found again, and one for all tabs.

import { expect, test } from './stage/test';
import { until } from './stage/until';
import { rowOf } from './stage/words';

const AWAY =
  /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 50\d/;

test('a server that is lost is said to be away, and what happened meanwhile is shown when it is back', async ({
  stage,
}) => {
  const foreman = await stage.foreman();
  const target = await stage.target();
  target.hold();
  const person = await stage.person(foreman);
  person.expects(AWAY);
  const page = await person.open('/jobs');
  let loads = 0;
  page.on('load', () => {
    loads += 1;
  });
  const before = await foreman.api.submit({ url: target.url, queue: 'before', backoff: { base: '100ms' } });
  await rowOf(page, before.id).getByText('running', { exact: true }).waitFor();

  await foreman.kill();
  const banner = page.getByRole('status').getByText(/connection.* lost/i);
  await banner.waitFor({ timeout: 60_000 });

  await foreman.start();
  target.release();
  // While the page may not have found back yet.
  const meanwhile = await foreman.api.submit({ url: target.url, queue: 'meanwhile' });
  await foreman.api.reaches(meanwhile.id, 'completed');
  await banner.waitFor({ state: 'hidden', timeout: 60_000 });
  await rowOf(page, meanwhile.id).getByText('completed', { exact: true }).waitFor();
  await rowOf(page, before.id).getByText('completed', { exact: true }).waitFor({ timeout: 60_000 });
  expect(loads).toBe(0);
});

test('a job that could not be sent says so, and pressed again when the server is back it is one job', async ({
  stage,
}) => {
  const foreman = await stage.foreman();
  const person = await stage.person(foreman);
  person.expects(AWAY);
  const page = await person.open('/submit');
  const form = page.getByRole('main');
  await form.getByLabel('URL', { exact: true }).fill(foreman.api.echo);
  await form.getByLabel('Queue', { exact: true }).fill('once');
  const submit = form.getByRole('button', { name: 'Submit', exact: true });

  await foreman.kill();
  await submit.click();
  const note = form.getByRole('alert').getByText('Not confirmed: the server is unreachable.');
  await note.waitFor({ timeout: 60_000 });

  await foreman.start();
  const banner = page.getByRole('status').getByText(/connection.* lost/i);
  await banner.waitFor({ state: 'hidden', timeout: 60_000 });
  // Nothing was sent behind the person's back, and nothing claims so.
  expect((await foreman.api.get<{ items: unknown[] }>('/jobs?queue=once')).items).toEqual([]);
  await submit.click();
  await form.getByText('completed', { exact: true }).waitFor();
  await note.waitFor({ state: 'hidden' });
  expect((await foreman.api.get<{ items: unknown[] }>('/jobs?queue=once')).items.length).toBe(1);
});

test('seven tabs of one browser are all live, on one connection', async ({ stage }) => {
  const foreman = await stage.foreman();
  const person = await stage.person(foreman);
  const tabs = [];
  for (let tab = 0; tab < 7; tab += 1) tabs.push(await person.open('/jobs'));
  for (const round of [1, 2]) {
    const job = await foreman.api.submit({ queue: `round-${round}` });
    for (const tab of tabs) await rowOf(tab, job.id).getByText('completed', { exact: true }).waitFor();
  }
  expect(await foreman.metric('foreman_streams')).toBe(1);
  // One that is closed takes nothing from the others.
  await tabs.shift()?.close();
  const last = await foreman.api.submit({ queue: 'last' });
  for (const tab of tabs) await rowOf(tab, last.id).getByText('completed', { exact: true }).waitFor();
  // The server learns of the last one's end.
  for (const tab of tabs) await tab.close();
  await until('nobody is connected', async () => (await foreman.metric('foreman_streams')) === 0);
});
