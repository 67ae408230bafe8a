// The pictures of every page, from the demo, into docs/screenshots: on a desktop and on a phone, and the first pages in the dark too.

import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { Person } from './stage/browser';
import { Foreman } from './stage/foreman';
import { PLACES, settled } from './stage/pages';
import { expect, test } from './stage/test';

const directory = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
const IN_THE_DARK = new Set(['overview', 'jobs', 'job', 'schedules']);

let foreman: Foreman;

beforeAll(async () => {
  foreman = await Foreman.start({ demo: true });
  await Promise.all(PLACES.map(({ ready }) => ready?.(foreman)));
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
});
afterAll(async () => {
  await foreman?.stop();
});

const pictures = [
  { end: '.png', phone: false, dark: false, places: PLACES },
  { end: '-phone.png', phone: true, dark: false, places: PLACES },
  { end: '-dark.png', phone: false, dark: true, places: PLACES.filter(({ name }) => IN_THE_DARK.has(name)) },
].flatMap(({ end, phone, dark, places }) =>
  places.map((place) => ({ picture: place.name + end, place, phone, dark })),
);

test.each([
  { picture: 'sign-in.png', phone: false },
  { picture: 'sign-in-phone.png', phone: true },
])('$picture', async ({ picture, phone }) => {
  const locked = await Foreman.start({ keys: true });
  const person = await Person.of(locked, { phone });
  const page = await person.open('/sign-in');
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await page.screenshot({ path: `${directory}${picture}`, animations: 'disabled' });
  await person.leave();
  await locked.stop();
});

test.each(pictures)('$picture', async ({ picture, place, phone, dark }) => {
  const person = await Person.of(foreman, { phone, dark });
  const page = await person.open(await place.path(foreman));
  await settled(page, place);
  const taken = await page.screenshot({ path: `${directory}${picture}`, animations: 'disabled' });
  expect(taken.length).toBeGreaterThan(1000);
  await person.leave();
  person.quiet();
});
