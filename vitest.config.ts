import { defineConfig } from 'vitest/config';

/** What is not a unit test has a project, and a pace, of its own. */
const APART = [
  'test/house/**',
  'test/property/**',
  'test/package/**',
  'test/real/**',
  'test/clients/**',
  'test/services/**',
];

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: APART, testTimeout: 30_000 } },
      { test: { name: 'property', include: ['test/property/**/*.test.ts'], testTimeout: 300_000 } },
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { test: { name: 'house', include: ['test/house/**/*.test.ts'], testTimeout: 60_000 } },
      // Real client libraries against servers on the loopback interface.
      { test: { name: 'clients', include: ['test/clients/**/*.test.ts'], testTimeout: 10_000 } },
      // Real servers on the loopback interface, started by the suite; it fails where they are not installed.
      {
        test: {
          name: 'services',
          include: ['test/services/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      // Real time is what these test: one file after the other, so that none starves another of the processor.
      {
        test: {
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
