import { expect, test } from 'vitest'
import type { Fetcher } from '../../kafka/transport.ts'
import type { PartitionLog } from './cluster/partition-log.ts'
import { handleRequest } from './cluster/requests.ts'
import { append, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

/** Brokers that hang, and brokers that do not know what the controller has decided. */

const PARTITION = { topic: TOPIC, partition: 0 }
const BROKERS = 3
/** A request to the broker that hangs has no answer after this time. */
const REQUEST_TIMEOUT_MS = 30_000
const POLL_MS = 1_000

test('a broker that hangs does not keep the client from finding the leaders and coordinators that replace it', async () => {
  let hangs = false
  const { cluster, faults, now, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!hangs || broker.nodeId !== 1) handleRequest(request, broker, cluster)
    },
    BROKERS,
  )
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer, transport) => {
    log.moveTo(1, log.end)
    append(producer, 'before')
    await producer.commit(new Map(), undefined)

    hangs = true
    log.moveTo(2, log.end)
    while (cluster.coordinator('transaction', 'single')?.nodeId === 1) faults.moveCoordinators()
    await transport.offsets([PARTITION], 'end')
    expect(now()).toBeLessThan(REQUEST_TIMEOUT_MS + POLL_MS)
    // From now on, other brokers are asked first.
    const askedAt = now()
    await transport.partitionCounts([TOPIC])
    expect(now() - askedAt).toBeLessThan(POLL_MS)
  })
  expect(valuesIn(cluster)).toEqual(['before'])
})

async function textsOf(fetcher: Fetcher, count: number): Promise<string[]> {
  const texts: string[] = []
  while (texts.length < count) {
    for (const { chunks } of await fetcher.poll(POLL_MS))
      for (const { buffer, count, valueStart, valueEnd } of chunks)
        for (let i = 0; i < count; i++) texts.push(buffer.toString('utf8', valueStart[i], valueEnd[i]))
  }
  return texts
}

test('a client that asks a broker which has fallen behind does not believe it what later epochs disprove', async () => {
  let isBehind = false
  const { cluster, open, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!isBehind || broker.nodeId !== 1) return handleRequest(request, broker, cluster)
      // Broker 1 does not know the latest leader of the partition, and considers itself to be the leader.
      const { leader, leaderEpoch } = log
      Object.assign(log, { leader: 1, leaderEpoch: leaderEpoch - 1 })
      handleRequest(request, broker, cluster)
      Object.assign(log, { leader, leaderEpoch })
    },
    BROKERS,
  )
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer) => {
    log.moveTo(1, log.end)
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    log.moveTo(2, log.end)
    append(producer, 'second')
    await producer.commit(new Map(), undefined)
    const { end, leaderEpoch } = log
    append(producer, 'third')
    await producer.commit(new Map(), undefined)

    isBehind = true
    const comparing = open('comparing')
    await comparing.connect()
    expect([...(await comparing.epochEnds([{ ...PARTITION, leaderEpoch }])).values()]).toEqual([log.end])
    const reading = open('reading')
    await reading.connect()
    const fetcher = reading.fetcher()
    fetcher.assign(PARTITION, end, 'earliest', leaderEpoch)
    // A reader that believed it would be without this offset, and begin again with the first record.
    expect(await textsOf(fetcher, 1)).toEqual(['third'])
  })
})
