// The checks themselves: each finds what it is there to find. Without these, a page that passes proves nothing.

import { findings, sticksOut } from './stage/axe';
import { expect, test } from './stage/test';

test('a page that is hard to use, too wide or noisy is found out', async ({ stage }) => {
  const foreman = await stage.foreman();
  const person = await stage.person(foreman, { phone: true });
  const page = await person.open('/submit');
  await page.getByRole('heading', { level: 1 }).waitFor();
  expect(await findings(page)).toEqual([]);
  expect(await sticksOut(page)).toEqual([]);
  person.quiet();

  await page.evaluate(() => {
    // oxlint-disable-next-line unicorn/consistent-function-scoping -- it runs in the page, where nothing from outside is
    const add = (tag: string, fill: (element: HTMLElement) => void) => {
      const element = document.createElement(tag);
      fill(element);
      document.querySelector('main')?.append(element);
    };
    add('button', () => undefined);
    add('p', (element) => {
      element.textContent = 'nobody can read this';
      element.style.color = '#ddd';
      element.style.backgroundColor = '#fff';
    });
    add('div', (element) => {
      element.textContent = 'wide';
      element.style.width = '2000px';
    });
  });
  const found = await findings(page);
  expect(found.join('\n')).toContain('button-name');
  expect(found.join('\n')).toContain('color-contrast');
  expect((await sticksOut(page)).join('\n')).toContain('wide');

  // What the policy stops, what throws and what is written to the console are all heard.
  await page.evaluate(() => {
    const style = document.createElement('style');
    style.textContent = 'body { display: none }';
    document.head.append(style);
    setTimeout(() => {
      throw new Error('thrown on purpose');
    });
  });
  await expect.poll(() => person.complaints.join('\n')).toContain('thrown on purpose');
  await expect.poll(() => person.complaints.join('\n')).toMatch(/policy: style-src/);
  expect(await page.evaluate(() => getComputedStyle(document.body).display)).not.toBe('none');
  expect(() => person.quiet()).toThrow();
  person.expects(/on purpose|style-src/);
});
