import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureClassArchive } from '../deploy/local/kafka/class-archive.ts'
import { ensureKafkaJars } from '../deploy/local/kafka/jars.ts'
import { pythonEnvironment } from '../tests/stack/python.ts'
import { TOOLS } from '../tests/stack/servers.ts'
import { commandLine, runMain } from './command-line/main.ts'
import declaration, { ALL_PROJECTS } from './verify.command.ts'
import type { TestTotals } from './verify-reporter.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = join(ROOT, 'node_modules', '.bin')
const REPORTER = fileURLToPath(new URL('./verify-reporter.ts', import.meta.url))
const MS_PER_SECOND = 1_000

/** What has to be right before the tests are worth running; each counts as one test. */
const CHECKS: readonly { readonly name: string; readonly command: string; readonly args: readonly string[] }[] = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'lint and format', command: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { name: 'dead exports', command: 'knip', args: ['--no-progress'] },
]

/** Runs everything, whatever fails, and ends with one line. Given paths or projects: only those tests, without the checks. */
async function main(): Promise<number> {
  const { projects, PATH: files } = commandLine(declaration)
  const isWhole = files.length === 0 && projects === ALL_PROJECTS
  let passed = 0
  let failed = 0
  for (const { name, command, args } of isWhole ? CHECKS : []) {
    if (await timed(name, async () => (await run(command, args)) === 0)) passed++
    else failed++
  }
  if ((await timed('tools', prepareTools)) === false) failed++
  const totals = await tests(projects.split(','), files)
  for (const { name, reason } of totals.skipped) process.stdout.write(`skipped: ${name}: ${reason}\n`)
  for (const name of totals.repeated) process.stdout.write(`passed at the second try only: ${name}\n`)
  passed += totals.passed
  failed += totals.failed
  if (totals.skipped.length > 0) process.stdout.write(`${totals.skipped.length} skipped\n`)
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

async function timed(name: string, work: () => Promise<boolean>): Promise<boolean> {
  const start = Date.now()
  const isGood = await work()
  process.stdout.write(`${isGood ? '✓' : '✗'} ${name} (${((Date.now() - start) / MS_PER_SECOND).toFixed(1)} s)\n`)
  return isGood
}

/** Downloads that tests would wait for, outside of their time limits: the broker, and the independent Python clients. */
async function prepareTools(): Promise<boolean> {
  try {
    const broker = ensureKafkaJars(TOOLS).then(async (jars) => ensureClassArchive(await realpath(jars)))
    await Promise.all([broker, pythonEnvironment('confluent'), pythonEnvironment('schemathesis')])
    return true
  } catch (error) {
    process.stdout.write(`${(error as Error).message}\n`)
    return false
  }
}

async function tests(projects: readonly string[], files: readonly string[]): Promise<TestTotals> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-verify-'))
  const totalsFile = join(folder, 'totals.json')
  try {
    const code = await run('vitest', [
      'run',
      ...projects.flatMap((project) => ['--project', project]),
      '--reporter=default',
      `--reporter=${REPORTER}`,
      `--outputFile.totals=${totalsFile}`,
      ...files,
    ])
    const totals = JSON.parse(readFileSync(totalsFile, 'utf8')) as TestTotals
    // Vitest knows failures that belong to no test, such as a global teardown's.
    return code !== 0 && totals.failed === 0 ? { ...totals, failed: 1 } : totals
  } catch (error) {
    process.stdout.write(`the test run did not come to its end: ${(error as Error).message}\n`)
    return { passed: 0, failed: 1, skipped: [], repeated: [] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [join(BIN, command), ...args], { cwd: ROOT, stdio: 'inherit' })
  // Ctrl-C reaches the child by the terminal; a signal sent to this process alone would not.
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  process.on('SIGTERM', forward).on('SIGINT', forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      process.off('SIGTERM', forward).off('SIGINT', forward)
      resolve(code ?? 1)
    })
  })
}

await runMain(main)
