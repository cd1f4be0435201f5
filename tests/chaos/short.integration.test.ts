import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Component } from '../../deploy/local/component.ts'
import { type GuardedFolder, guardedFolder } from '../stack/folder.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { newKafka } from '../stack/servers.ts'
import { drawSchedule, type FaultKind } from './schedule.ts'
import { runTrial } from './trial.ts'

/** Time limit of a whole test. A run normally takes 20 s, and each wait within it has its own limit. */
const RUN_TIMEOUT_MS = 480_000

let folder: GuardedFolder
let broker: Component

beforeAll(async () => {
  folder = guardedFolder()
  broker = await newKafka(folder.path)
  await broker.start()
})

afterAll(() => folder.finish())

const RUNS: readonly { readonly seed: number; readonly kinds: readonly FaultKind[] }[] = [
  { seed: 1, kinds: ['kill-at-step', 'zombie', 'cut'] },
  { seed: 2, kinds: ['broker-kill', 'blackhole', 'damage'] },
]

test.each(RUNS)(
  'with the faults $kinds, the output equals that of an offline computation',
  { ...AT_FIRST_TRY, timeout: RUN_TIMEOUT_MS },
  async ({ seed, kinds }) => {
    const say = (text: string) => process.stderr.write(`chaos seed ${seed}: ${text}\n`)
    const result = await runTrial(drawSchedule(seed, { kinds }), { brokers: [broker], folder: join(folder.path, `seed-${seed}`), say })
    expect(result.faults).toEqual([])
  },
)
