import { expect, test } from 'vitest'
import { append, producerWorld, TOPIC } from './producer-world.ts'

const PARTITION = { topic: TOPIC, partition: 0 }
const OTHER = 'other'
const OTHERS = [0, 1, 2].map((partition) => ({ topic: OTHER, partition }))
const MISSING_OFFSET = 99
/** Number of requests after which the fetcher has received its first responses. */
const PASSING_REQUESTS = 50
const POLL_MS = 1_000

test('after a partition is unassigned or assigned again, polls no longer throw its earlier errors', async () => {
  const { cluster, run } = producerWorld(2)
  cluster.createTopic(OTHER, OTHERS.length, new Map())
  await run(async (producer, transport) => {
    append(producer, 'a')
    await producer.commit(new Map(), undefined)
    const fetcher = transport.fetcher()
    for (const partition of [PARTITION, ...OTHERS]) fetcher.assign(partition, MISSING_OFFSET, 'fail')
    // While these requests are answered, the fetcher learns that none of the partitions contains the offset.
    for (let requests = 0; requests < PASSING_REQUESTS; requests++) await transport.offsets([PARTITION], 'end')
    await expect(fetcher.poll(POLL_MS)).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE', fatal: true })
    for (const other of OTHERS) fetcher.unassign(other)
    fetcher.assign(PARTITION, 0, 'fail')
    const read: string[] = []
    while (read.length === 0)
      for (const { chunks } of await fetcher.poll(POLL_MS))
        for (const { buffer, valueStart, valueEnd } of chunks) read.push(buffer.toString('utf8', valueStart[0], valueEnd[0]))
    expect(read).toEqual(['a'])
  })
})
