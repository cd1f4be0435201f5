import { ensureBrokerProgram } from '../deploy/local/kafka/program.ts'
import { ensureSearchProgram } from '../deploy/local/search/program.ts'
import { pythonEnvironment } from '../tests/stack/python.ts'
import { TOOLS } from '../tests/stack/servers.ts'
import { commandLine, runMain } from './command-line/main.ts'
import { runPackage } from './run-package.ts'
import { runLanes, runTests } from './test-run.ts'
import declaration from './verify.command.ts'
import type { Failure, TestTotals } from './verify-reporter.ts'

const MS_PER_SECOND = 1_000

/**
 * Checks in addition to the tests; each counts as one test. The compiler uses one thread, because several threads would
 * check some types more than once, and the cores are already busy with tests.
 */
const CHECKS: readonly { readonly name: string; readonly command: string; readonly args: readonly string[] }[] = [
  { name: 'types', command: 'tsc', args: ['--noEmit', '--singleThreaded'] },
  { name: 'lint and format', command: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { name: 'dead exports', command: 'knip', args: ['--no-progress'] },
]
type Checked = Pick<TestTotals, 'passed' | 'failures'>
const NO_CHECKS: Checked = { passed: 0, failures: [] }
/**
 * These lanes run concurrently. Unit tests use the CPU; the other tests mostly wait for servers and for intervals that
 * the services' contracts define. One lane runs only unit tests. The other lanes run parts of the unit tests too, but
 * only after their own projects. Tests that run a second time without public data are added to the last lane.
 */
const LANES: readonly (readonly string[])[] = [[], ['integration'], ['e2e', 'short-chaos', 'browser']]
const UNIT = 'unit'
/** The project that runs files a second time without the public data that they read. */
const WITHOUT_DATA = 'without-data'
const SLOWEST_OF_ALL = 20

/**
 * Runs the checks and tests, even after failures, and prints the totals in the last line. With paths or projects, runs
 * only those tests and no checks.
 */
async function main(): Promise<number> {
  const { projects, slowest, 'also-without-data': isTwice, PATH: files } = commandLine(declaration)
  const isWhole = files.length === 0 && projects === undefined
  const checking = isWhole ? check() : Promise.resolve(NO_CHECKS)
  const hasTools = await timed('tools', prepareTools)
  const totals = isWhole
    ? await runLanes(isTwice ? LANES.with(-1, [...LANES.at(-1)!, WITHOUT_DATA]) : LANES, UNIT)
    : await runTests([...(projects ?? [UNIT, ...LANES.flat()]), ...(isTwice ? [WITHOUT_DATA] : [])], files)
  const checked = await checking
  const failures = [...totals.failures, ...checked.failures, ...(hasTools ? [] : [{ name: 'tools', errors: [] }])]
  tellSlowest(totals, slowest ?? (isWhole ? SLOWEST_OF_ALL : 0))
  for (const { name, reason } of totals.skipped) process.stdout.write(`skipped: ${name}: ${reason}\n`)
  for (const each of totals.repeated) tellErrors('passed only at the second attempt', each)
  for (const each of failures) tellErrors('failed', each)
  if (totals.skipped.length > 0) process.stdout.write(`${totals.skipped.length} skipped\n`)
  process.stdout.write(`${checked.passed + totals.passed} passed, ${failures.length} failed\n`)
  return failures.length === 0 ? 0 : 1
}

async function check(): Promise<Checked> {
  const failures: Failure[] = []
  for (const { name, command, args } of CHECKS)
    if (!(await timed(name, async () => (await runPackage(command, args, 'at-end')) === 0))) failures.push({ name, errors: [] })
  return { passed: CHECKS.length - failures.length, failures }
}

async function timed(name: string, work: () => Promise<boolean>): Promise<boolean> {
  const start = Date.now()
  const isGood = await work()
  process.stdout.write(`${isGood ? '✓' : '✗'} ${name} (${seconds(Date.now() - start)})\n`)
  return isGood
}

function tellSlowest({ durations }: TestTotals, count: number): void {
  const slowest = durations.toSorted((a, b) => b.ms - a.ms).slice(0, count)
  if (slowest.length > 0) process.stdout.write(`the slowest ${slowest.length}:\n`)
  for (const { name, ms } of slowest) process.stdout.write(`  ${seconds(ms).padStart(8)}  ${name}\n`)
}

/** Repeats the errors of a failed test at the end of the output, because a CI system may keep only the end. */
function tellErrors(what: string, { name, errors }: Failure): void {
  process.stdout.write(`${what}: ${name}\n${errors.map((error) => `  ${error}\n`).join('')}`)
}

function seconds(ms: number): string {
  return `${(ms / MS_PER_SECOND).toFixed(1)} s`
}

/**
 * Downloads the Java servers and the independent Python clients, so that tests do not have to wait for the downloads
 * within their time limits.
 */
async function prepareTools(): Promise<boolean> {
  try {
    await Promise.all([
      ensureBrokerProgram(TOOLS),
      ensureSearchProgram(TOOLS),
      pythonEnvironment('confluent'),
      pythonEnvironment('schemathesis'),
    ])
    return true
  } catch (error) {
    process.stdout.write(`${(error as Error).message}\n`)
    return false
  }
}

await runMain(main)
