import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { AT_FIRST_TRY, testStack } from '../../../stack/index.ts'
import { authorLines, broken, DEADLINE_MS, exactCounts, wordBench } from './broker-bench.ts'

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** Interval between batches of lines. It is so short that the worker always has something to commit. */
const SEND_EVERY_MS = 50
const STEPS = ['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const

test(
  'a worker that is killed with -9 directly after each of the five commit steps neither loses nor duplicates anything',
  AT_FIRST_TRY,
  async () => {
    const bench = await wordBench(brokers)
    await bench.send(authorLines(300, 1))
    for (const [i, step] of STEPS.entries()) {
      const { exited } = bench.spawn({ kill: { step, commit: 2 } })
      let alive = true
      void exited.then(() => (alive = false))
      for (let round = 0; alive; round++) {
        await bench.send(authorLines(50, i + round + 2))
        await Promise.race([exited, delay(SEND_EVERY_MS)])
      }
      expect(await exited).toBe('SIGKILL')
      expect([step, broken(await bench.output())]).toEqual([step, []])
    }
    bench.spawn()
    await bench.complete()
    expect(await bench.output()).toEqual(exactCounts(bench.expected))
  },
)

test('a worker whose state folder is deleted restores from the changelogs and continues to count', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  await bench.send(authorLines(500, 1))
  const first = bench.spawn()
  await bench.complete()
  first.child.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  rmSync(join(bench.folder.path, 'state'), { recursive: true })
  await bench.send(authorLines(500, 2))
  bench.spawn()
  await bench.complete()
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})

test('with at-least-once, a worker that is killed with -9 loses no record, but may count a record twice', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  await bench.send(authorLines(500, 1))
  const { exited } = bench.spawn({ guarantee: 'at-least-once', kill: { step: 'produced', commit: 1 } })
  expect(await exited).toBe('SIGKILL')
  await bench.send(authorLines(200, 2))
  bench.spawn({ guarantee: 'at-least-once' })
  const lost = (output: ReadonlyMap<string, readonly number[]>) =>
    [...bench.expected].filter(([word, count]) => (output.get(word)?.at(-1) ?? 0) < count).map(([word]) => word)
  await waitUntil(async () => lost(await bench.output()).length === 0, { what: 'every word is counted', timeoutMs: DEADLINE_MS })
})
