import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { type Bench, bench, newIdentity, until } from '../harness.ts'
import { lines, numberTopic, textTopic, wordCount, wordCounts } from '../words.ts'

const echoes = textTopic('echoes')

/** Creates a stateless topology that copies records. */
const echoing = (options: { readonly offsetReset?: 'latest' | 'fail' } = {}) =>
  topology('echoing', (t) => {
    t.source(lines, options).process('echo', { emits: [echoes] }, (line, ctx) => ctx.emit(echoes, ctx.key ?? '', line))
  })

function appendTo({ broker }: Bench, topic: Topic<string, string>, partition: number, value: string): void {
  broker.append(topic.name, partition, { timestamp: broker.runtime.now(), key: Buffer.from(value), value: Buffer.from(value), headers: [] })
}

const valuesOf = (b: Bench) => b.all(echoes).map(({ value }) => value)

test.each([undefined, 'latest', 'fail'] as const)(
  'a stateless topology starts to process the new partitions of its source, with offsetReset %s',
  async (offsetReset) => {
    const b = bench()
    b.broker.createTopic({ name: lines.name, partitions: 2 })
    if (offsetReset === 'fail')
      b.broker.groups.commit(
        'echoing',
        undefined,
        [0, 1].map((partition) => ({ topic: lines.name, partition, offset: 0 })),
      )
    const echo = await b.worker(echoing({ offsetReset: offsetReset }))
    await until(() => echo.status().ready, 'the worker is ready')
    appendTo(b, lines, 0, 'before')
    await until(() => valuesOf(b).includes('before'), 'the first record')
    b.broker.addPartitions(lines.name, 4)
    // The record is written before the worker has detected the partition.
    appendTo(b, lines, 3, 'after')
    await until(() => valuesOf(b).includes('after'), 'the record of the new partition')
    expect(valuesOf(b).sort()).toEqual(['after', 'before'])
    expect(echo.status().tasks.map(({ id }) => id)).toEqual(['0_0', '0_1', '0_2', '0_3'])
    expect(echo.status().ready).toBe(true)
    appendTo(b, lines, 0, 'still')
    await until(() => valuesOf(b).includes('still'), 'the old partition continues')
  },
)

test.each(['latest', 'fail'] as const)(
  'a worker that restarts continues at the beginning of a new partition that had no records before, with offsetReset %s',
  async (offsetReset) => {
    const b = bench()
    b.broker.createTopic({ name: lines.name, partitions: 1 })
    b.broker.groups.commit('echoing', undefined, [{ topic: lines.name, partition: 0, offset: 0 }])
    const first = await b.worker(echoing({ offsetReset }))
    await until(() => first.status().ready, 'the worker is ready')
    b.broker.addPartitions(lines.name, 2)
    await until(() => first.status().tasks.filter(({ state }) => state === 'RUNNING').length === 2, 'the task of the new partition runs')
    await first.stop()
    appendTo(b, lines, 1, 'between')
    const second = await b.worker(echoing({ offsetReset }))
    await Promise.race([second.done, until(() => valuesOf(b).includes('between'), 'the record of the new partition', 5_000)])
    expect(valuesOf(b)).toEqual(['between'])
  },
)

test('new partitions are processed at once, even if the first answer with the partition counts is outdated', async () => {
  const b = bench()
  b.broker.createTopic({ name: lines.name, partitions: 2 })
  const transport = memoryTransport(b.broker)
  let oldAnswers = 0
  async function partitionCounts(topics: readonly string[]) {
    const found = await transport.partitionCounts(topics)
    if ((found.get(lines.name) ?? 0) <= 2 || oldAnswers > 0) return found
    oldAnswers++
    return new Map([...found, [lines.name, 2]])
  }
  const echo = await b.worker(echoing(), { transport: { ...transport, partitionCounts } })
  await until(() => echo.status().ready, 'the worker is ready')
  b.broker.addPartitions(lines.name, 3)
  appendTo(b, lines, 2, 'after')
  await until(() => valuesOf(b).includes('after'), 'the record of the new partition')
  expect(oldAnswers).toBe(1)
})

test('two stateless workers share the new partitions of a source', async () => {
  const b = bench()
  b.broker.createTopic({ name: lines.name, partitions: 2 })
  const workers = [await b.worker(echoing()), await b.worker(echoing())]
  const tasks = () => workers.flatMap((each) => each.status().tasks.map(({ id }) => id)).sort()
  await until(() => workers.every((each) => each.status().ready) && tasks().length === 2, 'both workers are ready')
  b.broker.addPartitions(lines.name, 4)
  for (const partition of [0, 1, 2, 3]) appendTo(b, lines, partition, `in ${partition}`)
  await until(() => b.all(echoes).length === 4, 'all records')
  await until(() => tasks().length === 4, 'all tasks')
  expect(workers.map((each) => each.status().tasks.length)).toEqual([2, 2])
})

test('records are sent to the new partitions of an output', async () => {
  const b = bench()
  b.broker.createTopic({ name: lines.name, partitions: 2 })
  b.broker.createTopic({ name: echoes.name, partitions: 1 })
  const echo = await b.worker(echoing())
  await until(() => echo.status().ready, 'the worker is ready')
  b.broker.addPartitions(echoes.name, 8)
  b.broker.addPartitions(lines.name, 3)
  await until(() => echo.status().tasks.length === 3, 'the growth is noticed')
  for (let i = 0; i < 50; i++) appendTo(b, lines, 0, `line ${i}`)
  await until(() => b.all(echoes).length === 50, 'all records')
  expect(new Set(b.all(echoes).map(({ partition }) => partition)).size).toBe(8)
})

test('if the source of a stage with state has gained partitions, the worker is not ready and explains what to do', async () => {
  const b = bench()
  const identity = newIdentity()
  const backend = memoryBackend()
  const words = await b.worker(wordCount(), { identity, backend })
  b.send(lines, 'ann', 'to be')
  await until(() => b.latest(wordCounts).get('be') === 1, 'the first line')
  expect(workerRunner(words).notReady()).toBeUndefined()
  b.broker.addPartitions('words-by-word-repartition', 4)
  await until(() => !words.status().ready && words.status().withoutTask.length > 0, 'the worker is not ready')
  expect(workerRunner(words).notReady()).toBe(words.status().withoutTask[0])
  expect(words.status().withoutTask).toEqual([
    expect.stringMatching(/^words-by-word-repartition has 4 partitions, but the state \(totals\) was built with 3: .*docs\/operations\.md/),
  ])
  // The stateless stage continues. The counting stage stops, because words may now be assigned to other partitions.
  b.send(lines, 'ann', 'be be be')
  await until(() => b.all({ ...numberTopic('words-by-word-repartition'), partitions: 4 }).length === 5, 'the words are split')
  expect(words.status().tasks.map(({ id }) => id)).toEqual(['0_0', '0_1'])
  expect(b.latest(wordCounts).get('be')).toBe(1)

  await words.stop()
  const again = await b.worker(wordCount(), { identity, backend })
  await until(() => again.status().tasks.length === 2, 'the restarted worker has tasks')
  expect(workerRunner(again).notReady()).toMatch(/^words-by-word-repartition has 4 partitions/)
  await again.stop()

  // Applies the documented remedy: deletes the group offsets and the internal topics, so that the topology starts from
  // scratch.
  b.broker.groups.forgetOffsets('words')
  b.broker.deleteTopic('words-totals-changelog')
  b.broker.deleteTopic('words-by-word-repartition')
  const anew = await b.worker(wordCount())
  await until(() => b.latest(wordCounts).get('be') === 4, 'the counts of the whole input')
  expect(workerRunner(anew).notReady()).toBeUndefined()
})

test('if sources share tasks, their new partitions are processed only after all of these sources have grown', async () => {
  const others = textTopic('others')
  const both = topology('both', (t) => {
    const seen = keyedStore('seen', { key: utf8, value: lines.value, logged: false })
    for (const topic of [lines, others])
      t.source(topic).process(`echo-${topic.name}`, { stores: [seen], emits: [echoes] }, (line, ctx) => {
        seen.put(ctx.key ?? '', line)
        ctx.emit(echoes, ctx.key ?? '', line)
      })
  })
  const b = bench()
  for (const { name } of [lines, others]) b.broker.createTopic({ name, partitions: 2 })
  const worker = await b.worker(both)
  await until(() => worker.status().ready, 'the worker is ready')
  b.broker.addPartitions(lines.name, 3)
  await until(() => worker.status().withoutTask.length > 0, 'a partition has no task')
  expect(worker.status().withoutTask).toEqual([expect.stringMatching(/^lines has 3 partitions, others has 2 partitions: add partitions/)])
  appendTo(b, lines, 0, 'old partition')
  await until(() => valuesOf(b).includes('old partition'), 'the old partitions continue')
  b.broker.addPartitions(others.name, 3)
  appendTo(b, others, 2, 'new partition')
  await until(() => valuesOf(b).includes('new partition'), 'the new partition')
  expect(worker.status().ready).toBe(true)
})

test('a worker whose source was deleted is not ready, and names the topic in its log and metrics', async () => {
  const b = bench()
  b.broker.createTopic({ name: lines.name, partitions: 2 })
  const errors: unknown[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (fields: object, message: string) => void errors.push([message, fields]) }
  const runtime = systemRuntime(log)
  const transport = memoryTransport(b.broker)
  let isDeleted = false
  let aheadMs = 0
  const echo = await b.worker(echoing(), {
    runtime: { ...runtime, monotonic: () => runtime.monotonic() + aheadMs },
    transport: {
      ...transport,
      partitionCounts: async (topics) => transport.partitionCounts(topics.filter((topic) => !isDeleted || topic !== lines.name)),
    },
  })
  const runner = workerRunner(echo)
  await until(() => echo.status().ready, 'the worker is ready')
  isDeleted = true
  aheadMs += 60_000
  await until(() => !echo.status().ready, 'the worker is not ready')
  expect(runner.notReady()).toBe('these topics were deleted: lines')
  expect(errors).toEqual([['topics_deleted', { topology: 'echoing', topics: ['lines'] }]])
  expect([...runner.samples()]).toContainEqual(
    expect.objectContaining({ name: 'topic_deleted', labels: { topology: 'echoing', topic: 'lines' } }),
  )
  isDeleted = false
  aheadMs += 60_000
  await until(() => echo.status().ready, 'the worker is ready again')
})

test('a worker stays ready if a single answer lacks one of its topics, because the broker may have fallen behind', async () => {
  const b = bench()
  b.broker.createTopic({ name: lines.name, partitions: 2 })
  const errors: unknown[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (_fields: object, message: string) => void errors.push(message) }
  const runtime = systemRuntime(log)
  const transport = memoryTransport(b.broker)
  let answers = 0
  let outdatedAnswer = Infinity
  let aheadMs = 0
  const echo = await b.worker(echoing(), {
    runtime: { ...runtime, monotonic: () => runtime.monotonic() + aheadMs },
    transport: {
      ...transport,
      partitionCounts: async (topics) =>
        transport.partitionCounts(topics.filter((topic) => topic !== lines.name || ++answers !== outdatedAnswer)),
    },
  })
  await until(() => echo.status().ready, 'the worker is ready')
  outdatedAnswer = answers + 1
  aheadMs += 60_000
  await until(() => answers > outdatedAnswer, 'the worker looks again soon after the outdated answer')
  expect({ ready: echo.status().ready, errors }).toEqual({ ready: true, errors: [] })
})
