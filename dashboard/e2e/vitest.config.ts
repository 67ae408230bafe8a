import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// One test after another: a machine with two cores runs the server, the browser and this. No test is tried twice, for one that
// fails now and then has found something.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['*.e2e.ts'],
    environment: 'node',
    pool: 'forks',
    fileParallelism: false,
    maxConcurrency: 1,
    retry: 0,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
  },
});
