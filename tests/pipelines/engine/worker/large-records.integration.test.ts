import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { readDeadLetters } from '../../../../pipelines/engine/dlq/read.ts'
import { type Topology, topology } from '../../../../pipelines/engine/topology/topology.ts'
import { memberIdentity } from '../../../../pipelines/engine/worker/member-identity.ts'
import { createWorker, type Worker } from '../../../../pipelines/engine/worker/worker.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { connected } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { numberTopic, textTopic } from '../words.ts'
import { DEADLINE_MS, topicReader } from './broker-bench.ts'

const MIB = 1_048_576
/** Length of a text. One text is longer than 1 MiB, but three texts together are shorter than 4 MiB. */
const LENGTH = 1_250_000

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/**
 * Creates a topology that expands each text, appends it to the earlier texts of its key, and emits the total length.
 */
function inflating(name: string, input: string, output: string): Topology {
  const [texts, lengths] = [textTopic(input, 1), numberTopic(output, 1)]
  return topology(name, (t) => {
    const large = t.repartition('large', { ...texts, partitions: 1 })
    t.source(texts).process('inflate', { emits: [large] }, (text, ctx) => ctx.emit(large, ctx.key, text.repeat(LENGTH)))
    const kept = keyedStore('kept', { key: utf8, value: texts.value })
    t.source(large).process('keep', { stores: [kept], emits: [lengths] }, function keep(text, ctx) {
      const all = (kept.get(ctx.key) ?? '') + text
      kept.put(ctx.key, all)
      ctx.emit(lengths, ctx.key, all.length)
    })
  })
}

async function started(transport: Transport, tested: Topology, folder: string): Promise<Worker> {
  const identity = memberIdentity(folder, tested.name)
  const worker = createWorker(
    { topology: tested },
    { transport, registry: memoryRegistry(), backend: memoryBackend(), identity, runtime: systemRuntime() },
  )
  onTestFinished(() => worker.stop())
  await worker.start()
  return worker
}

test('records above 1 MiB pass through repartition topics, changelogs and a restore, and dead letters that are too large are truncated', async () => {
  const transport = await connected(brokers)
  const [name, input, output] = [uniqueName('inflating'), uniqueName('texts'), uniqueName('lengths')]
  const folder = guardedFolder().path
  await transport.ensureTopics([input, output].map((topic) => ({ name: topic, partitions: 1 })))
  const producer = transport.producer({ compression: 'gzip' })
  await producer.init()
  onTestFinished(() => producer.close())
  async function send(value: Buffer): Promise<void> {
    const key = Buffer.from('k')
    producer.appender(input, 0).append(Date.now(), key, 0, key.length, value, 0, value.length)
    await producer.commit(new Map(), undefined)
  }
  const reader = await topicReader(transport, output, 1)
  const lengths = async () => (await reader.all()).map(({ value }) => Number(value))
  const untilLengths = (expected: number[]) =>
    waitUntil(async () => JSON.stringify(await lengths()) === JSON.stringify(expected), {
      what: `lengths ${expected}`,
      timeoutMs: DEADLINE_MS,
    })

  const first = await started(transport, inflating(name, input, output), join(folder, 'first'))
  await send(Buffer.from('a'))
  // The broker accepts this record despite its size, because it is compressed.
  await send(Buffer.alloc(6 * MIB, 0xff))
  await untilLengths([LENGTH])
  await send(Buffer.from('b'))
  await untilLengths([LENGTH, 2 * LENGTH])
  await first.stop()
  const [letter] = await readDeadLetters(transport, name)
  expect(letter).toMatchObject({ code: 'undecodable_value', cut: `value=${6 * MIB}` })
  expect(letter.value?.length).toBeGreaterThan(3 * MIB)

  await started(transport, inflating(name, input, output), join(folder, 'second'))
  await send(Buffer.from('c'))
  await untilLengths([LENGTH, 2 * LENGTH, 3 * LENGTH])
})

test('a batch that is too large when decompressed becomes one dead letter, and the worker continues', async () => {
  const transport = await connected(brokers)
  const [name, input, output] = [uniqueName('bombed'), uniqueName('texts'), uniqueName('lengths')]
  await transport.ensureTopics([input, output].map((topic) => ({ name: topic, partitions: 1 })))
  const producer = transport.producer({ compression: 'zstd' })
  await producer.init()
  onTestFinished(() => producer.close())
  const key = Buffer.from('k')
  for (const value of [Buffer.alloc(65 * MIB), Buffer.from('a')]) {
    producer.appender(input, 0).append(Date.now(), key, 0, key.length, value, 0, value.length)
    await producer.commit(new Map(), undefined)
  }
  const reader = await topicReader(transport, output, 1)
  await started(transport, inflating(name, input, output), join(guardedFolder().path, 'only'))
  await waitUntil(async () => (await reader.all()).length === 1, { what: 'the record after the large batch', timeoutMs: DEADLINE_MS })
  const [letter, ...others] = await readDeadLetters(transport, name)
  expect(others).toEqual([])
  expect(letter).toMatchObject({ code: 'unreadable_batch', source: { topic: input, partition: 0, offset: 0 }, value: null, cut: 'batch' })
})
