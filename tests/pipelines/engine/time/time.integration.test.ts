import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { connected, newProducer } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../../stack/index.ts'
import { DEADLINE_MS, spawnWorker, topicReader } from '../worker/broker-bench.ts'
import { ELECTION_DELAY_MS, publishedTimes, undercounted } from '../worker/election.ts'

const PARTITIONS = 2
const CANDIDATES = 5
/** The delays before killed workers are restarted are multiples of this time. */
const SEND_MS = 200

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** Starts to send batches of one vote per candidate. Each batch is committed before the next batch is created. */
async function campaign() {
  const transport = await connected(brokers)
  const [topology, input, output] = ['election', 'votes', 'results'].map((name) => uniqueName(name))
  const folder = guardedFolder()
  await transport.ensureTopics([input, output].map((name) => ({ name, partitions: PARTITIONS })))
  const producer = await newProducer(transport)
  const sent: { time: number; count: number }[] = []
  let count = 0
  let stopped = false

  async function run(): Promise<void> {
    while (!stopped) {
      for (let i = 0; i < CANDIDATES; i++) {
        const key = Buffer.from(`candidate-${i}`)
        const value = Buffer.from('1')
        producer.appender(input, partitionFor(key, PARTITIONS)).append(Date.now(), key, 0, key.length, value, 0, value.length)
      }
      await producer.commit(new Map(), undefined)
      count += CANDIDATES
      // Reads the clock only after the commit, because a published time is required to include only records that were
      // committed before it.
      sent.push({ time: Date.now() + ELECTION_DELAY_MS, count })
      await delay(5)
    }
  }

  const sending = run()
  async function stop(): Promise<void> {
    stopped = true
    await sending
  }
  onTestFinished(stop)

  const reader = await topicReader(transport, output, PARTITIONS)

  async function times() {
    const records = await reader.all()
    return publishedTimes(records.map(({ key, value }) => ({ key: key ?? '', value: Number(value) })))
  }

  async function more(n: number): Promise<void> {
    const before = (await times()).size
    await waitUntil(async () => (await times()).size >= before + n, { what: `${n} more times`, timeoutMs: DEADLINE_MS, intervalMs: 100 })
  }

  const start = (name: string) =>
    spawnWorker(folder, { brokers, kind: 'election', topology, input, output, folder: join(folder.path, name) })
  return { start, times, more, sent, stop, total: () => count }
}

test('although workers are killed and restarted, no result is published twice or with only part of its votes', AT_FIRST_TRY, async () => {
  const { start, times, more, sent, stop, total } = await campaign()
  let a = start('a')
  await a.ready
  await more(2)
  const b = start('b')
  await b.ready
  await more(2)
  for (let i = 0; i < 3; i++) {
    a.child.kill('SIGKILL')
    await a.exited
    await delay(SEND_MS * (i + 1))
    a = start('a')
    await a.ready
    await more(1)
  }
  b.child.kill('SIGTERM')
  expect(await b.exited).toBe(0)
  await more(2)
  await stop()
  await waitUntil(async () => latestTotal(await times()) === total(), { what: 'a time with every vote', timeoutMs: DEADLINE_MS })
  expect(undercounted(await times(), sent, CANDIDATES)).toEqual([])
})

function latestTotal(times: ReadonlyMap<number, ReadonlyMap<string, number>>): number {
  const latest = times.get(Math.max(...times.keys()))
  return [...(latest?.values() ?? [])].reduce((a, b) => a + b, 0)
}
