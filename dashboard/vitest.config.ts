import { mergeConfig } from 'vite';
import { defineConfig } from 'vitest/config';
import vite from './vite.config.ts';

export default mergeConfig(
  vite,
  defineConfig({
    test: {
      environment: 'happy-dom',
      include: ['src/**/*.test.{ts,tsx}'],
      setupFiles: ['./src/testing/setup.ts'],
      restoreMocks: true,
      // Tests wait on what is to be seen; how long that takes is the machine's affair.
      testTimeout: 60_000,
    },
  }),
);
