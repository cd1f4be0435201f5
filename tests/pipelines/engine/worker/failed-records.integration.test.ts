import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { readDeadLetters } from '../../../../pipelines/engine/dlq/read.ts'
import { replayDeadLetters } from '../../../../pipelines/engine/dlq/replay.ts'
import { type Topology, topology } from '../../../../pipelines/engine/topology/topology.ts'
import { memberIdentity } from '../../../../pipelines/engine/worker/member-identity.ts'
import { createWorker, type Worker } from '../../../../pipelines/engine/worker/worker.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { connected, newProducer } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../../stack/index.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'
import { DEADLINE_MS, topicReader } from './broker-bench.ts'

const RECORDS = 3_000
const BROKEN_EVERY = 300
const TOO_LARGE_EVERY = 500
/**
 * Size limit of the topic on the broker. It is lower than the limit that the topology declares, as if an operator had
 * changed it.
 */
const SMALL_LIMIT_BYTES = 50_000
const SENT_BYTES = 60_000

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

interface Names {
  readonly name: string
  readonly input: string
  readonly output: string
  readonly large: string
}

const isBroken = (value: number) => value % BROKEN_EVERY === 0
const isTooLarge = (value: number) => !isBroken(value) && value % TOO_LARGE_EVERY === 0

/**
 * Creates a topology that counts the records of each key.
 * @param mended whether the failing code has been repaired
 */
function counting({ name, input, output, large }: Names, mended: boolean): Topology {
  const [numbers, counts, texts] = [numberTopic(input, 2), numberTopic(output, 2), textTopic(large, 1)]
  return topology(name, (t) => {
    const seen = keyedStore('seen', { key: utf8, value: numberFormat })
    t.source(numbers, { onError: { process: 'dead-letter', produce: 'dead-letter' } }).process(
      'count',
      { stores: [seen], emits: [counts, texts] },
      function count(value, ctx) {
        const next = (seen.get(ctx.key) ?? 0) + 1
        seen.put(ctx.key, next)
        ctx.emit(counts, ctx.key, next)
        if (mended) return
        if (isBroken(value)) throw new Error(`cannot count ${value}`)
        if (isTooLarge(value)) ctx.emit(texts, ctx.key, 'x'.repeat(SENT_BYTES))
      },
    )
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

test(
  'records whose handler throws or whose output is too large become dead letters once, and leave no trace in state or outputs',
  AT_FIRST_TRY,
  async () => {
    const transport = await connected(brokers)
    const names = { name: uniqueName('counting'), input: uniqueName('numbers'), output: uniqueName('counts'), large: uniqueName('texts') }
    const folder = guardedFolder().path
    await transport.ensureTopics([
      { name: names.input, partitions: 2 },
      { name: names.output, partitions: 2 },
      { name: names.large, partitions: 1, config: { 'max.message.bytes': String(SMALL_LIMIT_BYTES) } },
    ])
    const producer = await newProducer(transport)
    onTestFinished(() => producer.close())
    const numbers = Array.from({ length: RECORDS }, (_, i) => i + 1)
    for (const number of numbers) {
      const [key, value] = [Buffer.from(`k${number % 2}`), Buffer.from(String(number))]
      producer.appender(names.input, number % 2).append(Date.now(), key, 0, key.length, value, 0, value.length)
    }
    await producer.commit(new Map(), undefined)
    const failing = numbers.filter((number) => isBroken(number) || isTooLarge(number))
    const reader = await topicReader(transport, names.output, 2)
    const output = async () => (await reader.all()).map(({ key, value }) => `${key} ${value}`).sort()
    async function untilOutput(records: number): Promise<void> {
      await waitUntil(async () => (await output()).length >= records, { what: `${records} counts`, timeoutMs: DEADLINE_MS })
    }
    /** Returns the expected outputs: for each key with n records, the counts 1 to n. */
    function countsOf(counted: readonly number[]): string[] {
      const perKey = [0, 1].map((key) => counted.filter((number) => number % 2 === key).length)
      return perKey.flatMap((count, key) => Array.from({ length: count }, (_, i) => `k${key} ${i + 1}`)).sort()
    }

    const worker = await started(transport, counting(names, false), join(folder, 'first'))
    await untilOutput(RECORDS - failing.length)
    expect(await output()).toEqual(countsOf(numbers.filter((number) => !failing.includes(number))))
    expect(worker.status()).toMatchObject({ state: 'running', fences: 0, restarts: failing.length })
    await worker.stop()
    const letters = await readDeadLetters(transport, names.name)
    expect(letters.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(failing)
    for (const { value, code, message, processor } of letters) {
      const number = Number(value)
      const expected = isBroken(number)
        ? ['process_failed', `cannot count ${number}`]
        : [
            'produce_failed',
            `its output to ${names.large} failed: topic ${names.large} accepts batches of up to 50000 bytes, but this record needs 60074`,
          ]
      expect([code, message, processor]).toEqual([...expected, 'count'])
    }
    const after = await transport.offsets([{ topic: names.large, partition: 0 }], 'end')
    expect([...after.values()]).toEqual([0])

    await started(transport, counting(names, true), join(folder, 'second'))
    expect(await replayDeadLetters(transport, names.name)).toMatchObject({ replayed: failing.length })
    await untilOutput(RECORDS)
    expect(await output()).toEqual(countsOf(numbers))
  },
)
