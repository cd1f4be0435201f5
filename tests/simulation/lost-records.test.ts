import { expect, test } from 'vitest'
import type { Fetcher, PartitionData, ReaderReset, Transport, WorkerProducer } from '../../kafka/transport.ts'
import type { Cluster } from './cluster/cluster.ts'
import { append, type ProducerWorld, producerWorld, TOPIC } from './producer-world.ts'

/** Tests of unclean leader elections. Such an election can lose acknowledged records. */

const PARTITION = { topic: TOPIC, partition: 0 }
const KEY = `${TOPIC}-0`
const GROUP = 'readers'
const POLL_MS = 1_000
/** A transaction with one record takes two offsets: one for the record, and one for the commit marker. */
const PER_COMMIT = 2

interface Steps {
  readonly transport: Transport
  readonly producer: WorkerProducer
  /** Commits each record in a separate transaction. */
  write(...values: string[]): Promise<void>
}

function runSteps({ cluster, run }: Pick<ProducerWorld, 'cluster' | 'run'>, steps: (given: Steps) => Promise<void>): Promise<void> {
  return run(async (producer, transport) => {
    const log = cluster.log(TOPIC, 0)!
    async function write(...values: string[]): Promise<void> {
      for (const value of values) {
        const { end } = log
        append(producer, value)
        await producer.commit(new Map(), undefined)
        // The coordinator answers first and then writes the marker.
        while (log.lastStable < end + PER_COMMIT) await transport.offsets([PARTITION], 'end')
      }
    }
    await steps({ transport, producer, write })
  })
}

/** Simulates an unclean election: the log of the new leader ends after this number of commits. */
function loseAfter(cluster: Cluster, commits: number): void {
  const log = cluster.log(TOPIC, 0)!
  log.moveTo(log.leader, commits * PER_COMMIT, false)
}

function opened(transport: Transport, offset: number, reset: ReaderReset, leaderEpoch?: number): Fetcher {
  const fetcher = transport.fetcher()
  fetcher.assign(PARTITION, offset, reset, leaderEpoch)
  return fetcher
}

function textsOf(data: readonly PartitionData[]): string[] {
  return data
    .flatMap(({ chunks }) => chunks)
    .flatMap(({ buffer, count, valueStart, valueEnd }) =>
      Array.from({ length: count }, (_, i) => buffer.toString('utf8', valueStart[i], valueEnd[i])),
    )
}

/** Polls until the reader is at the offset, and returns what it has read. */
async function readTo(fetcher: Fetcher, offset: number): Promise<PartitionData[]> {
  const read: PartitionData[] = []
  while (fetcher.position(PARTITION) !== offset) read.push(...(await fetcher.poll(POLL_MS)))
  return read
}

/** Lets simulated time pass, so that the fetcher can work in the background. */
async function pass(transport: Transport): Promise<void> {
  for (let requests = 0; requests < 50; requests++) await transport.offsets([PARTITION], 'end')
}

test('if the log loses records that a reader has read, the reader continues where the new log begins to differ', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a', 'b', 'c')
    const fetcher = opened(transport, 0, 'earliest')
    expect(textsOf(await readTo(fetcher, 6))).toEqual(['a', 'b', 'c'])
    loseAfter(world.cluster, 1)
    // The new record `d` has the offset that `c` had. Without leader epochs, the reader would skip it.
    await producer.init()
    await write('d', 'e', 'f')
    expect(textsOf(await readTo(fetcher, 8))).toEqual(['d', 'e', 'f'])
  })
})

test('a reader with the reset policy "fail" fails when the log has lost records that it has read', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a', 'b')
    const fetcher = opened(transport, 0, 'fail')
    await readTo(fetcher, 4)
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('c', 'd')
    await expect(readTo(fetcher, 6)).rejects.toMatchObject({ code: 'LOG_TRUNCATED', fatal: true })
  })
})

test('a reader that copies a whole log starts over when the log has lost records that it has read', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a', 'b')
    const fetcher = opened(transport, 0, 'rebuild')
    await readTo(fetcher, 4)
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('c', 'd')
    const read = await readTo(fetcher, 6)
    expect(textsOf(read)).toEqual(['a', 'c', 'd'])
    expect(read.find(({ chunks }) => chunks.length > 0)).toMatchObject({ wasReset: true })
  })
})

test('a poll reports that the reader starts over, even if the log loses records again before this poll', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a', 'b', 'c')
    const fetcher = opened(transport, 0, 'rebuild')
    await readTo(fetcher, 6)
    for (const [kept, value] of [
      [2, 'd'],
      [1, 'e'],
    ] as const) {
      loseAfter(world.cluster, kept)
      await producer.init()
      await write(value)
      await pass(transport)
    }
    const read = await readTo(fetcher, 4)
    expect(textsOf(read)).toEqual(['a', 'e'])
    expect(read.find(({ chunks }) => chunks.length > 0)).toMatchObject({ wasReset: true })
  })
})

test('a reader does not return fetched records that the log has lost', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a')
    const fetcher = opened(transport, 0, 'fail')
    await readTo(fetcher, 2)
    await write('b')
    await pass(transport)
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('c')
    await pass(transport)
    expect(textsOf(await readTo(fetcher, 4))).toEqual(['c'])
  })
})

test('a reader continues when the log has lost only records after its position', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a')
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('b', 'c')
    await transport.offsets([PARTITION], 'end')
    const epoch = transport.leaderEpoch(TOPIC, 0)
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('d')
    // Starts at the former offset of `b`, with the epoch of `b`. This reader has not read `b`, so the log has lost no
    // record before its position.
    const fetcher = opened(transport, 2, 'fail', epoch)
    expect(textsOf(await readTo(fetcher, 4))).toEqual(['d'])
  })
})

test('a committed offset contains the leader epoch, so the next reader notices the loss', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    loseAfter(world.cluster, 0)
    await write('a', 'b')
    const [first] = await readTo(opened(transport, 0, 'earliest'), 4)
    const { nextOffset: offset, leaderEpoch } = first
    expect(leaderEpoch).toBe(1)
    const group = transport.memberlessGroup(GROUP)
    await group.commit(new Map([[KEY, { ...PARTITION, offset, leaderEpoch }]]))
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('c', 'd')
    const committed = (await group.committed([PARTITION])).get(KEY)!
    expect(committed).toEqual({ offset: 4, metadata: '', leaderEpoch: 1 })
    const next = opened(transport, committed.offset, 'earliest', committed.leaderEpoch)
    expect(textsOf(await readTo(next, 6))).toEqual(['c', 'd'])
  })
})

test('a transaction commits the leader epochs of its offsets', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a')
    const member = transport.groupMember({ groupId: GROUP, memberId: '00000000-0000-4000-8000-000000000001', topics: [TOPIC] })
    await member.join()
    await producer.commit(new Map([[KEY, { ...PARTITION, offset: 2, leaderEpoch: 0 }]]), member)
    expect((await member.committed([PARTITION])).get(KEY)).toMatchObject({ offset: 2, leaderEpoch: 0 })
    await member.leave()
  })
})

test('a client finds the offset at which the records of each leader epoch end', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, transport, write }) => {
    await write('a', 'b')
    loseAfter(world.cluster, 1)
    await producer.init()
    await write('c')
    const ends = [0, 1].map((leaderEpoch) => transport.epochEnds([{ ...PARTITION, leaderEpoch }]))
    expect((await Promise.all(ends)).map((found) => found.get(KEY))).toEqual([2, 4])
    expect(await transport.epochEnds([])).toEqual(new Map())
  })
})

test('if the log has lost records of a producer, the next commit of the producer fails with a FencedError', async () => {
  const world = producerWorld(2)
  await runSteps(world, async ({ producer, write }) => {
    await write('a', 'b')
    loseAfter(world.cluster, 1)
    append(producer, 'c')
    await expect(producer.commit(new Map(), undefined)).rejects.toMatchObject({ name: 'FencedError' })
    await producer.init()
    await write('d')
  })
})
