import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { partitionFor } from '../../kafka/partitioner.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import { linkStats } from '../../schemas/links/topics.ts'
import { readLinkStats } from '../../state/views/links/link-stats.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'
import type { BenchServers } from '../harness/servers.ts'
import { clickProducer } from './producer.ts'
import { clickStream } from './stream.ts'

export interface Freshness {
  /** Times in ms from a click until the view counts it, in ascending order. */
  readonly seenMs: readonly number[]
  /** Age of `as_of` in ms when each click was first seen in the view, in ascending order. */
  readonly asOfAgeMs: readonly number[]
}

const LOOK_MS = 20
const GIVEN_UP_MS = 60_000
const ascending = (a: number, b: number) => a - b

/** Measures the time until the view counts the first click of a new link, under a steady stream of other clicks. */
export async function measureFreshness(
  servers: BenchServers,
  transport: Transport,
  options: { rate: number; seconds: number; userAgents: readonly string[] },
): Promise<Freshness> {
  const redis = new Redis(servers.addresses.redis)
  const views = redis as unknown as ViewReader
  const producer = await clickProducer(transport, registryClient({ url: servers.addresses.registry }))
  const next = clickStream('zipf', options.userAgents, 99)
  const seenMs: number[] = []
  const asOfAgeMs: number[] = []

  async function look(code: string, sentAt: number): Promise<void> {
    const partition = partitionFor(Buffer.from(code), linkStats.partitions)
    while (Date.now() - sentAt < GIVEN_UP_MS) {
      const found = await readLinkStats(views, partition, code)
      if (found !== NOT_CAUGHT_UP && found.stats !== undefined) {
        seenMs.push(Date.now() - sentAt)
        asOfAgeMs.push(Date.now() - found.asOf)
        return
      }
      await delay(LOOK_MS)
    }
    throw new Error(`the click on the link ${code} was not counted within ${GIVEN_UP_MS} ms`)
  }

  try {
    const looks: Promise<void>[] = []
    for (let second = 0; second < options.seconds; second++) {
      const startedAt = Date.now()
      for (let i = 0; i < options.rate; i++) await producer.send(next(Date.now()))
      const code = `new${second}`
      const sentAt = Date.now()
      await producer.send({ ...next(sentAt), short_code: code })
      await producer.flush()
      looks.push(look(code, sentAt))
      // The interval varies, so that clicks do not always arrive at the same point between two commits.
      await delay(Math.max(0, startedAt + 1_000 + (second % 7) * 37 - Date.now()))
    }
    await Promise.all(looks)
  } finally {
    await producer.close()
    redis.disconnect()
  }
  return { seenMs: seenMs.sort(ascending), asOfAgeMs: asOfAgeMs.sort(ascending) }
}
