import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { chunksOf } from '../../../../../kafka/memory/log.ts'
import type { CommittedOffset } from '../../../../../kafka/transport.ts'
import { openDeliveryLane } from '../../../../../pipelines/engine/sinks/deliveries/lane.ts'
import { doneOffsets } from '../../../../../pipelines/engine/sinks/deliveries/offset-window.ts'
import { deliverySlots } from '../../../../../pipelines/engine/sinks/deliveries/slots.ts'
import { sinkMetrics } from '../../../../../pipelines/engine/sinks/metrics.ts'
import { partitionQueue } from '../../../../../pipelines/engine/sinks/queue.ts'
import { manualRuntime } from '../../../../../runtime/manual.ts'
import { utf8 } from '../../../../../schemas/keys.ts'

const PLACE = { topic: 'letters', partition: 0 }
const SLOTS = 8
/** More records than a lane takes from its queue at once. */
const QUEUED = 600

/**
 * Opens a lane whose deliveries end only when the test calls `end`.
 * @param committed the last commit
 * @param epochEnd the offset at which the leader epoch of that commit ends in the log
 */
async function lane(committed?: CommittedOffset, epochEnd = 100) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  let now = 0
  const opened = openDeliveryLane(PLACE, {
    courier: {
      name: 'receiver',
      deliver: ({ record }, release) => {
        started.push(String(record.value))
        const { promise, resolve } = Promise.withResolvers<'done'>()
        ends.set(String(record.value), () => {
          release()
          resolve('done')
        })
        return promise
      },
      setAside: async () => 'done',
      close: async () => {},
    },
    slots: deliverySlots(SLOTS),
    isRetry: false,
    fetcher: { wake() {}, assign() {}, unassign() {}, pause() {}, resume() {} } as never,
    metrics: sinkMetrics(),
    commitEveryMs: 0,
    runtime: manualRuntime(),
    newQueue: (isMissing) => partitionQueue({ key: utf8, value: utf8, isMissing }),
    factsOf: async () => ({ start: 0, end: 100, committed, topicId: 'id', isBeyondEnd: async () => false }),
    confirmOwnership: async () => {},
    epochEnd: async () => epochEnd,
    offsetSince: async () => undefined,
    loadSchema: async () => 'not-found',
  })

  async function step(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      opened.step(++now)
      await nextTurn()
    }
  }

  /** Passes fetched records to the lane. The first record has the given offset. */
  async function fetched(offset: number, ...values: readonly string[]): Promise<void> {
    const records = values.map((value, index) => {
      return { offset: offset + index, timestamp: 0, key: Buffer.from('k'), value: Buffer.from(value), headers: [] }
    })
    const nextOffset = offset + values.length
    const ends = { nextOffset, highWatermark: nextOffset, lastStableOffset: nextOffset, fetchedAt: 0, leaderEpoch: 0 }
    opened.push({ ...PLACE, chunks: chunksOf(PLACE.topic, PLACE.partition, records), ...ends })
    await step()
  }

  async function end(...values: readonly string[]): Promise<void> {
    for (const value of values) ends.get(value)!()
    await step()
  }

  /** Returns the next offset that the lane would commit, and the later offsets that are done. */
  function commit(): [number, number[]] {
    const { offset = -1, metadata = '' } = opened.takeCommit(now) ?? {}
    return [offset, [...doneOffsets(offset, metadata)]]
  }

  function lastCommit(): CommittedOffset {
    return { metadata: '', ...opened.takeCommit(now)! }
  }

  await step()
  return { opened, started, fetched, end, commit, lastCommit }
}

test('if the log has lost its end, the committed position goes back to the new end of the log', async () => {
  const { fetched, end, commit, opened } = await lane()
  await fetched(0, 'a', 'b', 'c', 'd')
  await end('a', 'b', 'c', 'd')
  expect(commit()).toEqual([4, []])
  await fetched(2, 'C')
  expect(commit()).toEqual([2, []])
  await end('C')
  expect([commit(), opened.lag]).toEqual([[3, []], 0])
})

test('new records at the offsets of lost records count as done only after they have been delivered', async () => {
  const { started, fetched, end, commit } = await lane()
  await fetched(0, 'a', 'b', 'c', 'd')
  await end('b', 'c')
  expect(commit()).toEqual([0, [1, 2]])
  await fetched(2, 'C', 'D')
  expect(started).toEqual(['a', 'b', 'c', 'd', 'C', 'D'])
  await end('d')
  expect(commit()).toEqual([0, [1]])
  await end('D', 'a')
  expect(commit()).toEqual([2, [3]])
  await end('C')
  expect(commit()).toEqual([4, []])
})

test('if the log loses its end after a restart, new records are delivered even at offsets that were done before the restart', async () => {
  const first = await lane()
  await first.fetched(0, 'a', 'b', 'c', 'd')
  await first.end('b', 'c', 'd')
  const second = await lane(first.lastCommit())
  await second.fetched(0, 'a', 'b')
  await second.fetched(2, 'c', 'd')
  expect(second.started).toEqual(['a'])
  await second.fetched(2, 'C', 'D')
  expect(second.started).toEqual(['a', 'C', 'D'])
})

test('if the log loses its end during a restart, new records are delivered even at offsets that were done before the restart', async () => {
  const first = await lane()
  await first.fetched(0, 'a', 'b', 'c', 'd')
  await first.end('b', 'c', 'd')
  const second = await lane(first.lastCommit(), 2)
  await second.fetched(0, 'a', 'b', 'C', 'D')
  expect(second.started).toEqual(['a', 'C', 'D'])
})

test('lost records that wait for a slot are not delivered', async () => {
  const { started, fetched, end } = await lane()
  const values = Array.from({ length: SLOTS + 2 }, (_, index) => `letter ${index}`)
  await fetched(0, ...values)
  await fetched(SLOTS + 1, 'new')
  await end(...values.slice(0, SLOTS))
  expect(started).toEqual([...values.slice(0, SLOTS + 1), 'new'])
})

test('lost records that are still queued are not delivered, even if the log has no new records yet', async () => {
  const { started, fetched, end, commit } = await lane()
  const values = Array.from({ length: QUEUED }, (_, index) => `letter ${index}`)
  await fetched(0, ...values)
  await fetched(SLOTS)
  await end(...values.slice(0, SLOTS))
  expect([started.length, commit()]).toEqual([SLOTS, [SLOTS, []]])
  await fetched(SLOTS, 'new')
  expect(started.slice(SLOTS)).toEqual(['new'])
})
