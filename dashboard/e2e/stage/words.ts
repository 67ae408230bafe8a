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
