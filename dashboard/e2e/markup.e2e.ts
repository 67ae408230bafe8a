// Whatever a job carries is text, wherever it is shown.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, test } from './stage/test';
import { rowOf } from './stage/words';

const MARKUP = [
  '<script>window.pwned = 1; alert(1)</script>',
  '<img src=x onerror="window.pwned = 2; alert(2)">',
  '"><svg onload="window.pwned = 3; alert(3)"></svg>',
  '<a href="javascript:window.pwned=4" id="injected">click</a>',
  '<style>body { display: none }</style>',
  '{{constructor.constructor("window.pwned=5")()}}',
  '</pre></code></td></table><iframe srcdoc="<script>parent.pwned=6</script>"></iframe>',
].join('\n');

async function expectText(page: Page): Promise<void> {
  expect(await page.evaluate(() => (globalThis as unknown as { pwned?: number }).pwned)).toBeUndefined();
  expect(
    await page.locator('#injected, iframe, img[src="x"], svg[onload], a[href^="javascript:"]').count(),
  ).toBe(0);
  expect(await page.evaluate(() => getComputedStyle(document.body).display)).not.toBe('none');
}

test('a payload full of markup stays text, in the table, on the page of the job and among the dead', async ({
  stage,
}) => {
  const foreman = await stage.foreman({ words: ['--allow-commands'] });
  // The answer, which the job's page shows, is full of it as well.
  const server = createServer((_, response) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end(MARKUP),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?q=${encodeURIComponent(MARKUP)}`;
  try {
    const job = await foreman.api.dead({
      url,
      payload: { markup: MARKUP },
      headers: { 'x-markup': MARKUP.replaceAll('\n', ' ') },
      kind: 'markup',
      tags: ['<b>tag</b>', '<img src=x onerror=alert(7)>'],
      correlation_id: '<script>alert(8)</script>',
    });
    const printed = await foreman.api.dead({
      url: undefined,
      command: ['sh', '-c', 'printf %s "$0"; exit 1', MARKUP],
    });
    const person = await stage.person(foreman);
    // The page that signs in asks first whether anyone is signed in.
    person.expects(/401 \(Unauthorized\) at \S+\/whoami on \S+\/sign-in/);
    const page = await person.open(foreman.signIn('/jobs'));
    await rowOf(page, job.id).waitFor();
    await expectText(page);
    await page.goto(`/jobs/${job.id}`);
    await page.getByText('<script>window.pwned = 1', { exact: false }).first().waitFor();
    await expectText(page);
    await page.goto(`/jobs/${printed.id}`);
    await page.getByText('<script>window.pwned = 1', { exact: false }).first().waitFor();
    await expectText(page);
    await page.goto('/dead');
    await page.getByRole('main').getByRole('button', { expanded: false }).filter({ hasText: '500' }).click();
    await rowOf(page, job.id).waitFor();
    await expectText(page);
    await page.goto('/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expectText(page);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
