import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Worker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { silentLog, systemRuntime } from '../../../../runtime/system.ts'
import { gatedTransport } from '../gated-transport.ts'
import { type Bench, bench, newIdentity, until } from '../harness.ts'
import { lines, wordCount, wordCounts } from '../words.ts'

const TASKS = 5
const ALWAYS = { warmUpLeastRecords: 1 }

async function countedWords(at: Bench, rounds: number): Promise<void> {
  const before = at.all(wordCounts).length
  for (let i = 0; i < rounds; i++) at.send(lines, `author-${i}`, 'a b c d e f')
  await until(() => at.all(wordCounts).length === before + 6 * rounds, 'all words are counted')
}

function isExact(at: Bench): boolean {
  const counts = new Map<string, number[]>()
  for (const { key, value } of at.all(wordCounts)) counts.set(key, [...(counts.get(key) ?? []), value ?? 0])
  return [...counts.values()].every((list) => list.every((count, i) => count === i + 1))
}

/** Creates a runtime whose log collects why a worker's warm-ups end and how many records each task restores. */
function startLog() {
  const ends: string[] = []
  const restored = new Map<string, number>()
  const log = {
    ...silentLog,
    info(fields: object, event: string) {
      const { reason, task, restored_records } = fields as { reason: string; task: string; restored_records: number }
      if (event === 'warm_up_ended') ends.push(reason)
      if (event === 'task_running') restored.set(task, restored_records)
    },
  }
  return { runtime: systemRuntime(log), ends, restored }
}

const running = (worker: Worker) => worker.status().tasks.filter(({ state }) => state === 'RUNNING').length
const settled = (workers: readonly Worker[]) =>
  workers.every((worker) => worker.status().ready) && workers.reduce((sum, worker) => sum + running(worker), 0) === TASKS

test('the owners continue processing until a new worker has copies, and the new worker continues without a restore', async () => {
  const at = bench()
  const first = await at.worker(wordCount(), ALWAYS)
  await countedWords(at, 20)
  const gate = gatedTransport(memoryTransport(at.broker))
  const { runtime, ends, restored } = startLog()
  const second = await at.worker(wordCount(), { ...ALWAYS, transport: gate.transport, runtime })
  await until(() => (second.status().warmUp?.remaining ?? 0) > 0, 'the new worker begins to copy')
  await countedWords(at, 20)
  expect(running(first)).toBe(TASKS)
  expect(second.status()).toMatchObject({ ready: false, tasks: [] })
  const { notReady, samples } = workerRunner(second)
  expect(notReady()).toMatch(/^it copies the state of (1 task|\d tasks) before it takes over partitions; \d+ offsets remain$/)
  expect([...samples()].find(({ name }) => name === 'worker_warming_up')?.value).toBe(1)
  gate.open()
  await until(() => settled([first, second]), 'both workers have their tasks')
  expect(ends).toEqual(['warm'])
  expect(restored.size).toBe(running(second))
  for (const records of restored.values()) expect(records).toBe(0)
  await countedWords(at, 20)
  expect(isExact(at)).toBe(true)
})

test('when a third worker joins, every worker that gets a partition copies its state first, even a worker that already has tasks', async () => {
  const at = bench()
  // The third worker gets the last partition from the second worker, and the second worker gets one from the first
  // worker.
  const identities = [newIdentity(), newIdentity(), newIdentity()].sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  const workers: Worker[] = []
  const logs = identities.map(() => startLog())
  for (const [i, identity] of identities.entries()) {
    workers.push(await at.worker(wordCount(), { ...ALWAYS, identity, runtime: logs[i].runtime }))
    await until(() => settled(workers), `${i + 1} workers work`)
    await countedWords(at, 5)
  }
  expect(logs.map(({ restored }) => restored.get('1_1'))).toEqual([0, 0, undefined])
  expect(logs.map(({ restored }) => restored.get('1_2'))).toEqual([0, 0, 0])
  expect(isExact(at)).toBe(true)
})

test('workers that join at the same time all warm up before they get partitions, and need no restore', async () => {
  const at = bench()
  const first = await at.worker(wordCount(), ALWAYS)
  await countedWords(at, 20)
  const logs = [startLog(), startLog()]
  const others = await Promise.all(logs.map(({ runtime }) => at.worker(wordCount(), { ...ALWAYS, runtime })))
  await until(() => settled([first, ...others]), 'all workers have their tasks')
  expect(logs.map(({ ends }) => ends)).toEqual([['warm'], ['warm']])
  for (const { restored } of logs) expect(Math.max(0, ...restored.values())).toBe(0)
  await countedWords(at, 5)
  expect(isExact(at)).toBe(true)
})

test('a new worker ends its warm-up and takes over when all owners have left the group', async () => {
  const at = bench()
  const identity = newIdentity()
  await at.worker(wordCount(), { ...ALWAYS, identity })
  await countedWords(at, 5)
  const { runtime, ends } = startLog()
  const second = await at.worker(wordCount(), { ...ALWAYS, runtime, transport: gatedTransport(memoryTransport(at.broker)).transport })
  await until(() => second.status().warmUp !== undefined, 'the new worker warms up')
  at.broker.groups.leave('words', identity.memberId)
  await until(() => ends.length > 0, 'the new worker takes over')
  expect(ends).toEqual(['no-owner'])
})

test('a new worker whose copies make no progress takes over its partitions after the maximum wait', async () => {
  const at = bench()
  const first = await at.worker(wordCount(), ALWAYS)
  await countedWords(at, 5)
  const gate = gatedTransport(memoryTransport(at.broker))
  const { runtime, ends } = startLog()
  const second = await at.worker(wordCount(), { ...ALWAYS, warmUpMaxMs: 300, runtime, transport: gate.transport })
  await until(() => ends.length > 0, 'the new worker stops waiting for its copies')
  expect(ends).toEqual(['took-too-long'])
  gate.open()
  await until(() => settled([first, second]), 'both workers have their tasks')
  await countedWords(at, 5)
  expect(isExact(at)).toBe(true)
})

test('a worker joins without a warm-up if it has fewer records to copy than the minimum for a warm-up', async () => {
  const at = bench()
  const first = await at.worker(wordCount(), { warmUpLeastRecords: 1_000 })
  await countedWords(at, 5)
  const { runtime, ends } = startLog()
  const second = await at.worker(wordCount(), { warmUpLeastRecords: 1_000, runtime })
  expect(second.status().warmUp).toBeUndefined()
  await until(() => settled([first, second]), 'both workers have their tasks')
  expect(ends).toEqual([])
})
