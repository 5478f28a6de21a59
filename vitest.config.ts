import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/house/**', 'test/services/**'],
          testTimeout: 30_000,
        },
      },
      { test: { name: 'house', include: ['test/house/**/*.test.ts'], testTimeout: 60_000 } },
    ],
  },
});
