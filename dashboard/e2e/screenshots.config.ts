import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The pictures in docs/screenshots are made like the tests, on the same stage.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['screenshots.ts'],
    environment: 'node',
    pool: 'forks',
    fileParallelism: false,
    retry: 0,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
  },
});
