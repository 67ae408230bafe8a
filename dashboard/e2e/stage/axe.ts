// What axe-core finds wrong with a page for those who do not see it, or not well, or use no mouse.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The findings that matter, each as a line: the rule, what it says, and where. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const results = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: unknown) => Promise<AxeResults> } };
    return axe.run({ resultTypes: ['violations'] });
  });
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => {
        const why = [...node.any, ...node.all, ...node.none].map(({ message }) => message).join('; ');
        return `${id}: ${help}: ${node.html.slice(0, 160)} (${why})`;
      }),
    );
}

/** How far the page can be scrolled sideways; a page that fits cannot. With what sticks out. */
export async function sticksOut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.body.querySelectorAll('*')].filter(
      (element) => element.getBoundingClientRect().right > width + 1,
    );
    return [`${document.documentElement.scrollWidth} px in ${width}`].concat(
      wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 160)),
    );
  });
}
