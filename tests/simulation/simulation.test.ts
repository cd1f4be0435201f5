import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { simulate } from './world.ts'

const SEEDS = 400
const REPLAYED_SEEDS = 20
const TIMEOUT_MS = 120_000
const run = promisify(execFile)

async function traceOf(seeds: number, from: number): Promise<string | undefined> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'run.ts'), '--seeds', String(seeds), '--from', String(from)])
  return /^trace (\w+)$/m.exec(stdout)?.[1]
}

test('two processes that run the same seeds do exactly the same', { timeout: TIMEOUT_MS }, async () => {
  const [once, again, others] = [await traceOf(REPLAYED_SEEDS, 1), await traceOf(REPLAYED_SEEDS, 1), await traceOf(REPLAYED_SEEDS, 2)]
  expect(once).toMatch(/^[0-9a-f]{64}$/)
  expect(again).toBe(once)
  expect(others).not.toBe(once)
})

test(`the outputs of ${SEEDS} simulated clusters equal those of an offline computation`, { timeout: TIMEOUT_MS }, async () => {
  const wrong: string[] = []
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { faults } = await simulate(seed)
    if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.join('; ')}`)
  }
  expect(wrong).toEqual([])
})
