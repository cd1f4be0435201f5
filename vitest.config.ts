import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Most unit tests take milliseconds, and a few take seconds, but servers of other tests may keep the machine busy. */
const UNIT_TIMEOUT_MS = 120_000
/** A real broker answers in milliseconds, but starting one takes seconds, and many seconds on a busy machine. */
const STACK_TEST_TIMEOUT_MS = 120_000
const END_TO_END_TIMEOUT_MS = 300_000
/** A poll ends when its condition holds, so a long limit costs nothing. The default of 1 s fails on a busy machine. */
const POLL_TIMEOUT_MS = 30_000
/** Maximum length, in characters, of a value that the message of a failed assertion shows in full. */
const LONGEST_VALUE = 2_000
/**
 * Real servers occasionally miss a deadline on a busy machine. `npm test` lists every test that needed a second try.
 * Tests of guarantees that must hold under any fault set `AT_FIRST_TRY`, so they are never repeated.
 */
const STACK_RETRIES = 1
/** Number of test processes for two cores. Next to a broker, further processes would only slow each other down. */
const STACK_WORKERS = 2

const integration = 'tests/**/*.integration.test.ts'
const endToEnd = 'tests/e2e/**/*.test.ts'
const chaos = 'tests/chaos/{kills,alias,clicks,burns,limits,matches,fraud,inventory,search,recommendations,elections}.test.ts'
/** Short rounds of chaos tests. A round takes half a minute, and each file has its own servers. */
const shortChaos = 'tests/chaos/*.integration.test.ts'
/** These tests open pages in Chromium, whose processes do most of the work. */
const browser = 'tests/browser/*.test.ts'
const guideOnBroker = 'docs/guide/**/*.integration.test.ts'
const readsPublicData = 'tests/**/*.data.test.ts'
/** No folder has this name, so the tests find no public data. */
const NO_DATA = 'no-public-data'
/** Ends the servers of a file after its last test, because files share a process. */
const AFTER_FILE = 'tests/stack/after-file.ts'

/**
 * Tests start about a hundred processes. They share the compile cache of `npm start`, which saves each of them 0.4 s of
 * CPU time.
 */
process.env.NODE_COMPILE_CACHE ??= `${process.env.MILLRACE_HOME ?? fileURLToPath(new URL('.millrace', import.meta.url))}/compile-cache`

export default defineConfig({
  test: {
    pool: 'forks',
    setupFiles: 'tests/property-limit.ts',
    expect: { poll: { timeout: POLL_TIMEOUT_MS } },
    // A CI system may keep only the summary, and a message with "Array(1)" does not say what was wrong.
    chaiConfig: { truncateThreshold: LONGEST_VALUE },
    // `performance` is not faked. Test files share a process, so a loop that another file has left behind may still be
    // running. If such a loop waited for time to pass on a faked `performance`, it would block the process forever.
    fakeTimers: { toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'Date'] },
    // Projects run in ascending order of `groupOrder`. The numbers start at 1, because Vitest runs isolated projects
    // without parallelism last if their number is 0.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['tests/**/*.test.ts', 'docs/guide/**/*.test.ts'],
          exclude: [integration, endToEnd, chaos, browser, guideOnBroker],
          // Starting a process for each file would take a third of the CPU time. Files in a process share imports.
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
          exclude: [shortChaos],
          isolate: false,
          setupFiles: AFTER_FILE,
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
          name: 'short-chaos',
          include: [shortChaos],
          globalSetup: 'tests/stack/global-setup.ts',
          testTimeout: END_TO_END_TIMEOUT_MS,
          hookTimeout: END_TO_END_TIMEOUT_MS,
          fileParallelism: false,
          sequence: { groupOrder: 4 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [browser],
          exclude: [integration],
          isolate: false,
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
          fileParallelism: false,
          sequence: { groupOrder: 5 },
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
          sequence: { groupOrder: 6 },
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
          sequence: { groupOrder: 7 },
        },
      },
    ],
  },
})
