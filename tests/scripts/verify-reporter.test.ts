import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { TestModule, TestRunEndReason } from 'vitest/node'
import VerifyReporter, { runningFile, type TestTotals } from '../../scripts/verify-reporter.ts'

interface FakeTest {
  readonly fullName: string
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly note?: string
  readonly duration?: number
  readonly flaky?: boolean
  readonly errors?: readonly { readonly message: string }[]
}

interface FakeModule {
  readonly file: string
  readonly project?: string
  readonly duration: number
  readonly errors?: number
  readonly tests: readonly FakeTest[]
}

function asModule({ file, project = 'unit', duration, errors = 0, tests }: FakeModule): TestModule {
  const allTests = () =>
    tests.map(({ fullName, state, note, duration, flaky = false, errors }) => ({
      fullName,
      result: () => ({ state, note, errors }),
      diagnostic: () => (state === 'skipped' ? undefined : { duration, flaky }),
    }))
  const module = {
    relativeModuleId: file,
    project: { name: project },
    errors: () => Array.from({ length: errors }, () => new Error('not loaded')),
    diagnostic: () => ({ duration }),
    children: { allTests },
  }
  return module as unknown as TestModule
}

/** Makes the reporter write its totals to a file, passing the path as the command line would. Returns the path. */
function totalsFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'))
  const path = join(folder, 'totals.json')
  const argument = `--outputFile.totals=${path}`
  process.argv.push(argument)
  onTestFinished(() => {
    process.argv.splice(process.argv.indexOf(argument), 1)
    rmSync(folder, { recursive: true })
  })
  return path
}

function totalsOf(modules: readonly FakeModule[], unhandled: readonly unknown[] = [], reason: TestRunEndReason = 'passed'): TestTotals {
  const path = totalsFile()
  new VerifyReporter().onTestRunEnd(modules.map(asModule), unhandled, reason)
  return JSON.parse(readFileSync(path, 'utf8')) as TestTotals
}

test('the reporter counts passed and failed tests and errors outside of tests, and names tests that needed a retry', () => {
  const totals = totalsOf(
    [
      {
        file: 'a.test.ts',
        duration: 5,
        errors: 1,
        tests: [
          { fullName: 'one', state: 'passed', duration: 1 },
          { fullName: 'two', state: 'failed', duration: 1, errors: [{ message: 'expected 1 to be 2' }] },
          { fullName: 'three', state: 'passed', duration: 1, flaky: true },
        ],
      },
    ],
    [new Error('of nobody')],
    'interrupted',
  )
  expect(totals.failures).toEqual([
    { name: 'outside of tests', errors: [expect.stringContaining('of nobody')] },
    { name: 'the run', errors: [expect.stringContaining('interrupted')] },
    { name: 'a.test.ts', errors: [expect.stringContaining('not loaded')] },
    { name: 'a.test.ts: two', errors: ['expected 1 to be 2'] },
  ])
  expect(totals.failures).toHaveLength(4)
  expect(totals).toMatchObject({ passed: 2, repeated: [{ name: 'a.test.ts: three', errors: [] }] })
})

test('the reporter says why tests were skipped, but omits skipped tests of the run without public data', () => {
  const tests: FakeTest[] = [
    { fullName: 'with a reason', state: 'skipped', note: 'needs tweets' },
    { fullName: 'without', state: 'skipped' },
  ]
  const totals = totalsOf([
    { file: 'a.data.test.ts', duration: 0, tests },
    { file: 'a.data.test.ts', project: 'without-data', duration: 0, tests },
  ])
  expect(totals).toMatchObject({ passed: 0, failures: [] })
  expect(totals.skipped).toEqual([
    { name: 'a.data.test.ts: with a reason', reason: 'needs tweets' },
    { name: 'a.data.test.ts: without', reason: 'no reason given' },
  ])
})

test('the reporter says how long each test took, and how long each file took outside of its tests', () => {
  const { durations } = totalsOf([
    {
      file: 'a.test.ts',
      duration: 60,
      tests: [
        { fullName: 'one', state: 'passed', duration: 10 },
        { fullName: 'two', state: 'passed', duration: 20 },
      ],
    },
  ])
  expect(durations).toEqual([
    { name: 'a.test.ts: one', ms: 10 },
    { name: 'a.test.ts: two', ms: 20 },
    { name: 'a.test.ts: before and after its tests', ms: 30 },
  ])
})

test('the reporter names the files that were running when a run was killed', () => {
  const path = totalsFile()
  const reporter = new VerifyReporter()
  const [a, b, c] = ['a', 'b', 'c'].map((file) => asModule({ file, duration: 0, tests: [] }))
  reporter.onTestModuleStart(a)
  reporter.onTestModuleStart(b)
  reporter.onTestModuleEnd(a)
  reporter.onTestModuleStart(c)
  expect(JSON.parse(readFileSync(runningFile(path), 'utf8'))).toEqual(['b', 'c'])
})
