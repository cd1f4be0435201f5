import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Milliseconds each, but the machine may be busy with the servers of other tests. */
const UNIT_TIMEOUT_MS = 30_000
/** A real broker answers in milliseconds; starting one takes seconds, on a machine that is busy otherwise many. */
const STACK_TEST_TIMEOUT_MS = 120_000
const END_TO_END_TIMEOUT_MS = 300_000
/** Real servers beside other work now and then miss a deadline; `npm test` names each test that needed it. None where output must be exact (`AT_FIRST_TRY`). */
const STACK_RETRIES = 1
/** Two cores: more processes beside a broker only make each other wait. */
const STACK_WORKERS = 2

const integration = 'tests/**/*.integration.test.ts'
const endToEnd = 'tests/e2e/**/*.test.ts'
const chaos = 'tests/chaos/{kills,alias,clicks,burns,limits}.test.ts'
const guideOnBroker = 'docs/guide/**/*.integration.test.ts'
const readsPublicData = 'tests/**/*.data.test.ts'
/** A folder that is not there: tests see no public data. */
const NO_DATA = 'no-public-data'

/** Tests start a hundred processes: each compiles its modules in 0.4 s of CPU, or finds them compiled. Beside that of `npm start`. */
process.env.NODE_COMPILE_CACHE ??= `${process.env.MILLRACE_HOME ?? fileURLToPath(new URL('.millrace', import.meta.url))}/compile-cache`

export default defineConfig({
  test: {
    pool: 'forks',
    // `groupOrder`: from the lowest number up; 0 would come last.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['tests/**/*.test.ts', 'docs/guide/**/*.test.ts'],
          exclude: [integration, endToEnd, chaos, guideOnBroker],
          // A process for each of 190 files would be a third of the whole CPU time; modules are loaded anew for each file even so.
          isolate: false,
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: [integration, guideOnBroker],
          globalSetup: 'tests/stack/global-setup.ts',
          retry: STACK_RETRIES,
          testTimeout: STACK_TEST_TIMEOUT_MS,
          hookTimeout: STACK_TEST_TIMEOUT_MS,
          maxWorkers: STACK_WORKERS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: [endToEnd],
          globalSetup: 'tests/stack/global-setup.ts',
          retry: STACK_RETRIES,
          testTimeout: END_TO_END_TIMEOUT_MS,
          hookTimeout: END_TO_END_TIMEOUT_MS,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'without-data',
          include: [readsPublicData],
          env: { MILLRACE_DATA: NO_DATA },
          globalSetup: 'tests/stack/global-setup.ts',
          retry: STACK_RETRIES,
          testTimeout: END_TO_END_TIMEOUT_MS,
          hookTimeout: END_TO_END_TIMEOUT_MS,
          fileParallelism: false,
          sequence: { groupOrder: 4 },
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: [chaos],
          globalSetup: 'tests/stack/global-setup.ts',
          testTimeout: END_TO_END_TIMEOUT_MS,
          hookTimeout: END_TO_END_TIMEOUT_MS,
          fileParallelism: false,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
})
