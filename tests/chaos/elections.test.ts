/**
 * Test of an unclean election on three brokers: the leader of a log dies, and a broker that lacks the last records
 * becomes the leader. Broker 1 has the coordinators and the input topic, so only the logs on brokers 2 and 3 lose
 * records.
 */
import { randomUUID } from 'node:crypto'
import { Admin } from '@platformatic/kafka'
import { expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../deploy/local/wait.ts'
import { memoryRegistry } from '../../kafka/memory/registry.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport, WorkerProducer } from '../../kafka/transport.ts'
import { createWorker, keyedStore, type Topology, topology, utf8, type Worker } from '../../pipelines/engine/index.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { memoryBackend } from '../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../state/stores/store.ts'
import { append, commit, connected, flatten, newProducer, pollUntil, readToEnd, silent, valuesOf } from '../kafka/client/harness.ts'
import { numberFormat, numberTopic, textTopic } from '../pipelines/engine/words.ts'
import { guardedFolder } from '../stack/folder.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { newKafkaCluster } from '../stack/kafka-cluster.ts'

const TEST_MS = 240_000
const WAIT_MS = 60_000
const WORDS = textTopic('words', 1)
const TOTALS = numberTopic('totals', 1)
const NAME = 'counts'
const CHANGELOG = `${NAME}-totals-changelog`
const PLAIN = 'plain'
const BROKERS = 3

function counts(): Topology {
  return topology(NAME, (t) => {
    const totals = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(WORDS).process('count', { stores: [totals], emits: [TOTALS] }, function count(_line, ctx) {
      const word = ctx.key ?? ''
      const total = (totals.get(word) ?? 0) + 1
      totals.put(word, total)
      ctx.emit(TOTALS, word, total)
    })
  })
}

async function newWorker(transport: Transport, backend: StateBackend, registry: SchemaRegistry): Promise<Worker> {
  const identity = { memberId: randomUUID(), transactionalId: `${NAME}-${randomUUID()}`, keepMemberId: () => {} }
  const worker = createWorker(
    { topology: counts(), commitIntervalMs: 10 },
    { transport, registry, backend, identity, runtime: systemRuntime(silent) },
  )
  onTestFinished(() => worker.stop())
  await worker.start()
  return worker
}

async function write(producer: WorkerProducer, ...values: string[]): Promise<void> {
  append(producer, PLAIN, 0, ...values)
  await commit(producer)
}

const totalsOf = (transport: Transport) => readToEnd(transport, { topic: TOTALS.name, partition: 0 })

/** Sends words, each in a separate transaction, and waits until the worker has counted them. */
async function send(transport: Transport, producer: WorkerProducer, ...words: string[]): Promise<void> {
  const before = (await totalsOf(transport)).length
  for (const word of words) {
    const key = Buffer.from(word)
    producer.appender(WORDS.name, 0).append(Date.now(), key, 0, key.length, key, 0, key.length)
    await commit(producer)
  }
  const isCounted = async () => (await totalsOf(transport)).length === before + words.length
  await waitUntil(isCounted, { what: `totals of ${words.join(', ')}`, timeoutMs: WAIT_MS, intervalMs: 100 })
}

test('after an election that loses records, a reader continues where the log begins to differ, and kept state is rebuilt', {
  ...AT_FIRST_TRY,
  timeout: TEST_MS,
}, async () => {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const { first, others } = await newKafkaCluster(folder.path, BROKERS)
  const [second, third] = others
  await first.start()
  const transport = await connected(first.address, { deliveryTimeoutMs: WAIT_MS })
  await transport.ensureTopics([WORDS, TOTALS].map(({ name, partitions }) => ({ name, partitions })))
  const input = await newProducer(transport)
  // Creates the internal topics while there is only one broker, so that they are on that broker.
  await transport.memberlessGroup('none').committed([{ topic: WORDS.name, partition: 0 }])
  await input.commit(new Map(), undefined)
  append(input, WORDS.name, 0, 'x')
  await input.abort()
  await Promise.all([second.start(), third.start()])
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [first.address] })
  onTestFinished(() => admin.close())
  const configs = [
    { name: 'unclean.leader.election.enable', value: 'true' },
    { name: 'min.insync.replicas', value: '1' },
  ]
  const assignments = [{ partition: 0, brokers: [2, 3] }]
  await admin.createTopics({ topics: [CHANGELOG, PLAIN], configs, assignments })

  const plain = transport.producer({})
  await plain.init()
  const fetcher = transport.fetcher({ maxWaitMs: 100 })
  fetcher.assign({ topic: PLAIN, partition: 0 }, 0, 'earliest')
  const next = async (count: number) => flatten(await pollUntil(fetcher, (data) => flatten(data).length === count, `${count} records`))
  const registry = memoryRegistry()
  const kept = memoryBackend()
  const worker = await newWorker(transport, kept, registry)

  await write(plain, 'a')
  await send(transport, input, 'early')
  await third.stop()
  await write(plain, 'b', 'c')
  expect(valuesOf(await next(3))).toEqual(['a', 'b', 'c'])
  await send(transport, input, 'early', 'lost')
  await worker.stop()

  await second.kill()
  await third.start()
  // The write of `d` fails, because the earlier records of the producer are gone. Nevertheless, `d` stays in the log,
  // because the producer uses no transactions.
  await expect(write(plain, 'd')).rejects.toMatchObject({ name: 'FencedError' })
  await plain.init()
  await write(plain, 'e', 'f', 'g')
  expect(valuesOf(await next(4))).toEqual(['d', 'e', 'f', 'g'])

  // Another worker extends the log beyond the offset at which the kept state was saved.
  const other = await newWorker(transport, memoryBackend(), registry)
  await send(transport, input, ...Array.from({ length: 20 }, () => 'early'))
  await other.stop()
  const back = await newWorker(transport, kept, registry)
  await send(transport, input, 'early', 'lost')
  await back.stop()
  // The log has lost the second count of `early`, and the only count of `lost`.
  const latest = new Map((await totalsOf(transport)).map(({ key, value }) => [key, Number(value)]))
  expect(latest).toEqual(
    new Map([
      ['early', 22],
      ['lost', 1],
    ]),
  )
})
