import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Output, runPackage } from './run-package.ts'
import { runningFile, type TestTotals } from './verify-reporter.ts'

const REPORTER = fileURLToPath(new URL('./verify-reporter.ts', import.meta.url))
/**
 * Time limit of a lane, which is one run of vitest. A lane takes ten minutes on an idle machine. Vitest's own time
 * limits cannot end a test that blocks the event loop forever. A lane that exceeds the limit is therefore killed, and
 * the error names the test files that were running.
 */
const LANE_TIMEOUT_MS = 45 * 60_000
const NOTHING_RAN: TestTotals = { passed: 0, failures: [], skipped: [], repeated: [], durations: [] }

/**
 * Runs the vitest projects of each lane. The lanes run concurrently, because a lane that waits for servers leaves the
 * CPU to the others.
 */
export async function runLanes(lanes: readonly (readonly string[])[]): Promise<TestTotals> {
  const totals = await Promise.all(lanes.map((projects) => runTests(projects, [], 'lines')))
  return {
    passed: totals.reduce((sum, { passed }) => sum + passed, 0),
    failures: totals.flatMap(({ failures }) => failures),
    skipped: totals.flatMap(({ skipped }) => skipped),
    repeated: totals.flatMap(({ repeated }) => repeated),
    durations: totals.flatMap(({ durations }) => durations),
  }
}

/** Runs the tests of these vitest projects, or only those at the given paths. */
export async function runTests(projects: readonly string[], files: readonly string[], output: Output = 'through'): Promise<TestTotals> {
  const failure = (error: string) => [{ name: `the run of ${projects.join(', ')}`, errors: [error] }]
  const folder = mkdtempSync(join(tmpdir(), 'millrace-verify-'))
  const totalsFile = join(folder, 'totals.json')
  try {
    const args = [
      'run',
      ...projects.flatMap((project) => ['--project', project]),
      '--reporter=default',
      `--reporter=${REPORTER}`,
      `--outputFile.totals=${totalsFile}`,
      ...(process.stdout.isTTY ? ['--color'] : []),
      ...files,
    ]
    const code = await runPackage('vitest', args, output, LANE_TIMEOUT_MS)
    if (!existsSync(totalsFile)) throw new Error(`these files were running: ${unfinished(totalsFile)}`)
    const totals = JSON.parse(readFileSync(totalsFile, 'utf8')) as TestTotals
    // Vitest's exit code also covers failures that belong to no test, such as those of a global teardown.
    if (code === 0 || totals.failures.length > 0) return totals
    return { ...totals, failures: failure(`No test failed, but the exit code was ${code}.`) }
  } catch (error) {
    return { ...NOTHING_RAN, failures: failure(`It did not finish: ${(error as Error).message}`) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function unfinished(totalsFile: string): string {
  const file = runningFile(totalsFile)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]).join(', ') : 'none'
}
