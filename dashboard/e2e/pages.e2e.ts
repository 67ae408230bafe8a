// What holds for every page: anybody can use it, it fits a phone, and the browser has nothing to complain about. On the demo, where
// each page has something to show.

import { afterAll, beforeAll, describe } from 'vitest';
import { findings, sticksOut } from './stage/axe';
import { Person } from './stage/browser';
import { Foreman } from './stage/foreman';
import { PLACES, settled } from './stage/pages';
import { expect, test } from './stage/test';

let foreman: Foreman;

beforeAll(async () => {
  foreman = await Foreman.start({ demo: true });
  await Promise.all(PLACES.map(({ ready }) => ready?.(foreman)));
});
afterAll(async () => {
  await foreman?.stop();
});

describe.each([
  { look: 'on a desktop, light', phone: false, dark: false },
  { look: 'on a desktop, dark', phone: false, dark: true },
  { look: 'on a phone, light', phone: true, dark: false },
  { look: 'on a phone, dark', phone: true, dark: true },
])('$look', ({ phone, dark }) => {
  let person: Person;
  beforeAll(async () => {
    person = await Person.of(foreman, { phone, dark });
  });
  afterAll(() => person?.leave());

  test.each(PLACES)('the page $name can be used by anybody, fits, and makes no noise', async (place) => {
    const page = await person.open(await place.path(foreman));
    await settled(page, place);
    expect(await findings(page)).toEqual([]);
    expect(await sticksOut(page)).toEqual([]);
    await page.close();
    person.quiet();
    person.complaints.length = 0;
  });

  test('the page sign-in can be used by anybody, fits, and makes no noise', async ({ stage }) => {
    const stranger = await stage.person(await stage.foreman({ keys: true }), { phone, dark });
    // Who one is was asked first, and the browser writes that down.
    stranger.expects(/status of 401/);
    const page = await stranger.open('/sign-in');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await sticksOut(page)).toEqual([]);
  });
});
