// How a test finds things on the dashboard's pages: as a person with a screen reader does, by role and name.

import type { Locator, Page } from 'playwright-core';

/** The row of a job in a table. */
export function rowOf(page: Page, id: string): Locator {
  return page.getByRole('row').filter({ has: page.locator(`a[href$="/jobs/${id}"]`) });
}

/** The jobs that a page's tables link to, each once. */
export async function idsIn(page: Page): Promise<string[]> {
  const links = page.getByRole('row').locator('a[href*="/jobs/"]');
  const found = await links.evaluateAll((all) =>
    all.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
  );
  return [...new Set(found.map((path) => path.slice(path.lastIndexOf('/') + 1)))].toSorted();
}

/** Goes on by the Tab key alone until what has the focus is called this. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 100; presses += 1) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => {
      const element = document.activeElement;
      return (element?.getAttribute('aria-label') ?? element?.textContent ?? '').trim();
    });
    if (name.test(label)) return;
    passed.push(label.slice(0, 40));
  }
  throw new Error(`Tab never comes to ${String(name)}, but to ${passed.join(', ')}`);
}
