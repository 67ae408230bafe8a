// The system's Chromium, and what it complains about.
//
// Each context is a person with a fresh browser: no cookies, no storage, no worker shared with another. Everything that any of
// its pages writes to the console as an error, throws, or that the content security policy stops is kept, and a test ends with
// `quiet()`: none of it, but for what the test itself provoked and said so with `expects()`.

import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { expect } from 'vitest';
import type { Foreman } from './foreman';
import { LONG } from './until';

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface Look {
  phone?: boolean;
  dark?: boolean;
}

let launched: Promise<Browser> | undefined;

/** One process for all of a file's tests; it ends with the file's process at the latest. */
export function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    // Without its sandbox, which root and many containers cannot have: it sees nothing but the pages of a test's own server.
    chromiumSandbox: false,
    // /dev/shm is small in many containers.
    args: ['--disable-dev-shm-usage', '--disable-gpu'],
  });
  return launched;
}

export async function closeBrowser(): Promise<void> {
  const open = launched;
  launched = undefined;
  await (await open)?.close();
}

export class Person {
  readonly complaints: string[] = [];
  #expected: RegExp[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly foreman: Foreman,
  ) {}

  static async of(
    foreman: Foreman,
    { phone = false, dark = false }: Look = {},
    more: BrowserContextOptions = {},
  ): Promise<Person> {
    const context = await (
      await browser()
    ).newContext({
      baseURL: foreman.url,
      viewport: phone ? PHONE : DESKTOP,
      colorScheme: dark ? 'dark' : 'light',
      hasTouch: phone,
      isMobile: phone,
      locale: 'en-GB',
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...more,
    });
    context.setDefaultTimeout(30_000);
    context.setDefaultNavigationTimeout(LONG);
    const person = new Person(context, foreman);
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        // oxlint-disable-next-line no-console -- this is how it gets out of the page
        console.error(
          `policy: ${event.violatedDirective} stopped ${event.blockedURI} (${event.sourceFile}:${event.lineNumber})`,
        );
      });
    });
    context.on('page', (page) => person.listen(page));
    context.on('weberror', (error) =>
      person.complaints.push(`thrown: ${error.error().stack ?? error.error().message}`),
    );
    return person;
  }

  /** A new tab, at this path. */
  async open(path = '/'): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(path);
    return page;
  }

  /** What the test provokes is no surprise. */
  expects(complaint: RegExp): void {
    this.#expected.push(complaint);
  }

  /** Nothing was complained about that the test did not expect. */
  quiet(): void {
    expect(this.complaints.filter((said) => !this.#expected.some((expected) => expected.test(said)))).toEqual(
      [],
    );
  }

  /** For whoever reads the output of a test that failed: what is to be seen, and a picture where E2E_PICTURES says. */
  async describe(): Promise<void> {
    const pictures = process.env['E2E_PICTURES'];
    for (const [index, page] of this.context.pages().entries()) {
      const seen = await page
        .locator('body')
        .ariaSnapshot({ timeout: 2000 })
        .catch((error: unknown) => String(error));
      process.stdout.write(`--- ${page.url()}\n${seen.slice(0, 6000)}\n`);
      if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${Date.now()}-${index}.png` });
    }
  }

  async leave(): Promise<void> {
    await this.context.close();
  }

  private listen(page: Page): void {
    page.on('console', (message) => {
      if (message.type() === 'error')
        this.complaints.push(`${message.text()} at ${message.location().url} on ${page.url()}`);
    });
    page.on('crash', () => this.complaints.push(`crashed: ${page.url()}`));
    // A dialog that nobody asked for is how injected markup shows itself.
    page.on('dialog', (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }
}
