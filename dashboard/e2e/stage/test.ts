// `test` with what a browser test stands on. A server is made for each test that asks for one and ends with it; so do people.

import { afterAll, test as plain } from 'vitest';
import { closeBrowser, type Look, Person } from './browser';
import { Foreman, type Options } from './foreman';
import { Target } from './target';

export interface Stage {
  /** A server of this test's own. */
  foreman: (options?: Options) => Promise<Foreman>;
  /** Somebody with a fresh browser, looking at a server. */
  person: (foreman: Foreman, look?: Look) => Promise<Person>;
  /** Something for jobs to call. */
  target: () => Promise<Target>;
}

export const test = plain.extend<{ stage: Stage }>({
  stage: async ({ task }, perform) => {
    const servers: Foreman[] = [];
    const people: Person[] = [];
    const targets: Target[] = [];
    await perform({
      foreman: async (options) => {
        const foreman = await Foreman.start(options);
        servers.push(foreman);
        return foreman;
      },
      person: async (foreman, look) => {
        const person = await Person.of(foreman, look);
        people.push(person);
        return person;
      },
      target: async () => {
        const target = await Target.start();
        targets.push(target);
        return target;
      },
    });
    if (task.result?.state === 'fail') {
      // While it is all still there: what was to be seen, and what the servers had to say.
      for (const person of people) await person.describe();
      for (const server of servers) server.describe();
    }
    for (const person of people) await person.leave();
    for (const target of targets) await target.stop();
    for (const server of servers) await server.kill();
    for (const person of people) person.quiet();
  },
});

afterAll(closeBrowser);

export { expect } from 'vitest';
