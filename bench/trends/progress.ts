import { setTimeout as delay } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { waitUntil } from '../../deploy/local/wait.ts'
import type { Transport } from '../../kafka/transport.ts'
import { partitionKey } from '../../kafka/transport.ts'
import { tweets } from '../../schemas/trends/topics.ts'
import type { WorkerProcess } from '../harness/worker.ts'

const GROUP = 'trends'
const COUNTS = 'trends-drawn-cells-repartition'
const POLL_MS = 50
const TIMEOUT_MS = 600_000

export interface Progress {
  /** Time at which the committed offsets had reached the end of the input, epoch ms. */
  readonly inputAt: number
  /**
   * Time at which every count had reached its term's state, epoch ms. After that, the pipeline only renews lists and
   * publishes volumes, at fixed times that do not depend on the number of tweets.
   */
  readonly countedAt: number
}

/** Waits until every tweet is counted and the offsets of all tweets and counts are committed. */
export async function untilCaughtUp(brokers: string, transport: Transport, workers: readonly WorkerProcess[]): Promise<Progress> {
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [brokers] })
  const deadline = Date.now() + TIMEOUT_MS
  let inputAt = 0
  try {
    for (;;) {
      await delay(POLL_MS)
      for (const worker of workers) worker.check()
      const now = Date.now()
      const waiting = await lags(admin, transport)
      if (inputAt === 0 && waiting.get(tweets.name) === 0) inputAt = now
      if (inputAt > 0 && waiting.get(COUNTS) === 0) return { inputAt, countedAt: now }
      if (now > deadline) throw new Error(`not caught up after ${TIMEOUT_MS} ms; lag by topic: ${JSON.stringify([...waiting])}`)
    }
  } finally {
    await admin.close()
  }
}

/** Waits until no stage has any lag. After that, only timers create new records. */
export async function untilIdle(brokers: string, transport: Transport): Promise<void> {
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [brokers] })
  try {
    const isIdle = async () => [...(await lags(admin, transport)).values()].every((lag) => lag === 0)
    await waitUntil(isIdle, { what: 'every stage to catch up', timeoutMs: TIMEOUT_MS, intervalMs: POLL_MS })
  } finally {
    await admin.close()
  }
}

/** Returns the number of records between the committed offsets and the end offsets, by topic. */
export async function lags(admin: Admin, transport: Transport, ofGroup: string = GROUP): Promise<Map<string, number>> {
  const [group] = await admin.listConsumerGroupOffsets({ groups: [ofGroup] })
  const partitions = group.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset }) => ({
      topic: name,
      partition: partitionIndex,
      committed: Number(committedOffset),
    })),
  )
  const ends = await transport.offsets(partitions, 'end')
  const waiting = new Map<string, number>()
  for (const { topic, partition, committed } of partitions) {
    const lag = (ends.get(partitionKey(topic, partition)) ?? 0) - Math.max(0, committed)
    waiting.set(topic, (waiting.get(topic) ?? 0) + lag)
  }
  return waiting
}
