import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Output, runPackage } from './run-package.ts'
import { runningFile, type TestTotals } from './verify-reporter.ts'

const REPORTER = fileURLToPath(new URL('./verify-reporter.ts', import.meta.url))
/**
 * Time limit of one run of vitest. A lane, which has at most one long run and some short ones, takes ten minutes on an
 * idle machine. Vitest's own time limits cannot end a test that blocks the event loop forever. A run that exceeds the
 * limit is therefore killed, and the error names the test files that were running.
 */
const LANE_TIMEOUT_MS = 45 * 60_000
/**
 * Number of parts into which the project that all lanes share is split. At the end, a lane may be idle for as long as
 * the last part takes, so parts must be short. But each part costs two seconds of CPU time to start vitest.
 */
const PARTS = 8
const NOTHING_RAN: TestTotals = { passed: 0, failures: [], skipped: [], repeated: [], durations: [] }

/** A part of a project's test files, such as `2/8`. */
type Shard = `${number}/${number}`

/**
 * Runs the vitest projects of each lane. The lanes run concurrently, because a lane that waits for servers leaves the
 * CPU to the others.
 * @param split this project is run in parts. Each lane takes one part after another when its own projects have run, so
 * that all lanes end at about the same time.
 */
export async function runLanes(lanes: readonly (readonly string[])[], split: string): Promise<TestTotals> {
  const parts = Array.from({ length: PARTS }, (_, i): Shard => `${i + 1}/${PARTS}`)
  async function runLane(projects: readonly string[]): Promise<TestTotals[]> {
    const totals = projects.length > 0 ? [await runTests(projects, [], 'lines')] : []
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) totals.push(await runTests([split], [], 'lines', part))
    return totals
  }
  const totals = (await Promise.all(lanes.map(runLane))).flat()
  return {
    passed: totals.reduce((sum, { passed }) => sum + passed, 0),
    failures: totals.flatMap(({ failures }) => failures),
    skipped: totals.flatMap(({ skipped }) => skipped),
    repeated: totals.flatMap(({ repeated }) => repeated),
    durations: totals.flatMap(({ durations }) => durations),
  }
}

/**
 * Runs the tests of these vitest projects.
 * @param files paths or parts of paths of the files to run; an empty list selects all files
 * @param part only this part of the files is run
 */
export async function runTests(
  projects: readonly string[],
  files: readonly string[],
  output: Output = 'through',
  part?: Shard,
): Promise<TestTotals> {
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
      ...(part === undefined ? [] : [`--shard=${part}`]),
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
