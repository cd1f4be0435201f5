import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { SubjectName } from './plan.ts'

const REPLAYED_SEEDS = 20
/**
 * Time limit. All seeds together take about a minute of CPU time, but on a busy machine, the tests may take many times
 * as long.
 */
const TIMEOUT_MS = 900_000
const run = promisify(execFile)

/** Runs the simulation command. Returns its standard output, followed by its standard error. */
async function simulated(topology: SubjectName, seeds: number, from = 1): Promise<string> {
  const args = ['--topology', topology, '--seeds', String(seeds), '--from', String(from)]
  const { stdout, stderr } = await run(process.execPath, [join(import.meta.dirname, 'run.ts'), ...args]).catch(
    // `execFile` rejects if an output is wrong, because the command then ends with code 1. If the command does not
    // start, only the message of the error says why.
    (error: Error & { readonly stdout?: string; readonly stderr?: string }) => ({
      stdout: error.stdout ?? '',
      stderr: error.stderr || error.message,
    }),
  )
  return `${stdout}${stderr}`
}

async function traceOf(seeds: number, from: number): Promise<string | undefined> {
  return /^hash of all events: (\w+)$/m.exec(await simulated('counter', seeds, from))?.[1]
}

test('two processes that run the same seeds have exactly the same events', { timeout: TIMEOUT_MS }, async () => {
  const [once, again, others] = await Promise.all([traceOf(REPLAYED_SEEDS, 1), traceOf(REPLAYED_SEEDS, 1), traceOf(REPLAYED_SEEDS, 2)])
  expect(once).toMatch(/^[0-9a-f]{64}$/)
  expect(again).toBe(once)
  expect(others).not.toBe(once)
})

/**
 * How many seeds to run for each topology. All seeds together take about a minute of CPU time. The README of this
 * folder also states these numbers.
 */
const SEEDS = [
  ['counter', 1, 800],
  ['bank', 1, 170],
  ['trends', 1, 12],
  ['shop', 1, 18],
] as const

test.concurrent.each(SEEDS)(
  '%s: starting with seed %i, the outputs of %i runs are right',
  { timeout: TIMEOUT_MS },
  async (topology, from, seeds) => {
    expect(await simulated(topology, seeds, from)).toMatch(new RegExp(`^${seeds} runs, \\d+ events, 0 wrong`, 'm'))
  },
)
