import { expect, test } from 'vitest'
import {
  changelogsAtCommit,
  streamTimeMetadata,
  streamTimeOf,
  withChangelogEpochs,
} from '../../../../pipelines/engine/state/commit-metadata.ts'
import { putLogIdentity } from '../../../../pipelines/engine/state/log-identity.ts'
import type { TaskPlace } from '../../../../pipelines/engine/task/task-place.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'

const SOURCE = { topic: 'orders', partition: 1 }
const [FIRST, SECOND] = [changelog('first'), changelog('second')]
const PLACE = { sources: [SOURCE], changelogs: [FIRST, SECOND] } as unknown as TaskPlace
const IDS = new Map([
  [FIRST.topic, 'id of the first'],
  [SECOND.topic, 'id of the second'],
])

function changelog(store: string) {
  return { store, topic: `${store}-changelog`, partition: 1, identityName: `id/${store}`, positionName: store, epochName: store }
}

/** Returns the offsets as they are committed while the leaders of the changelogs have these epochs. */
function committed(epochs: Readonly<Record<string, number>>, streamTime = 7) {
  const session = memoryBackend().session('test')
  for (const each of [FIRST, SECOND]) putLogIdentity(session, each, IDS.get(each.topic))
  session.write()
  const offset = { ...SOURCE, offset: 3, metadata: streamTimeMetadata(streamTime) }
  const { metadata = '' } = withChangelogEpochs(offset, PLACE, session, (topic) => epochs[topic] ?? -1)
  return new Map([['orders-1', { offset: 3, metadata }]])
}

const epochsFrom = (...given: Parameters<typeof changelogsAtCommit>) =>
  changelogsAtCommit(...given).map(({ topic, leaderEpoch }) => [topic, leaderEpoch])

test('a committed offset names the leader epoch of each changelog, and the event time', () => {
  const found = committed({ [FIRST.topic]: 4, [SECOND.topic]: 12 })
  expect(epochsFrom([PLACE], found, IDS)).toEqual([
    [FIRST.topic, 4],
    [SECOND.topic, 12],
  ])
  expect(streamTimeOf(found.get('orders-1')?.metadata ?? '')).toBe(7)
})

test('the metadata contains neither unknown epochs nor an unknown event time', () => {
  expect(epochsFrom([PLACE], committed({ [FIRST.topic]: 4 }, -1), IDS)).toEqual([
    [FIRST.topic, 4],
    [SECOND.topic, -1],
  ])
  expect(committed({}, -1).get('orders-1')?.metadata).toBe('')
})

test('the epoch of a deleted changelog does not apply to a new changelog with the same name', () => {
  const found = committed({ [FIRST.topic]: 4, [SECOND.topic]: 5 })
  expect(epochsFrom([PLACE], found, new Map([...IDS, [FIRST.topic, 'another id']]))).toEqual([
    [FIRST.topic, -1],
    [SECOND.topic, 5],
  ])
})

test('metadata of an earlier version of the engine has an event time but no epochs', () => {
  const found = new Map([['orders-1', { offset: 3, metadata: 'stream-time=99' }]])
  expect(streamTimeOf('stream-time=99')).toBe(99)
  expect(epochsFrom([PLACE], found, IDS).map(([, epoch]) => epoch)).toEqual([-1, -1])
})

test('the metadata contains the epoch that is current when the metadata is read', () => {
  const session = memoryBackend().session('test')
  putLogIdentity(session, FIRST, IDS.get(FIRST.topic))
  session.write()
  let epoch = 1
  const offset = withChangelogEpochs({ ...SOURCE, offset: 3 }, PLACE, session, () => epoch)
  const before = offset.metadata
  epoch = 2
  expect(offset.metadata).not.toBe(before)
})

test('metadata that would be too long for brokers contains no epochs', () => {
  const session = memoryBackend().session('test')
  const changelogs = Array.from({ length: 400 }, (_, at) => changelog(`store-${at}`))
  for (const each of changelogs) putLogIdentity(session, each, each.topic)
  session.write()
  const place = { sources: [SOURCE], changelogs } as unknown as TaskPlace
  expect(withChangelogEpochs({ ...SOURCE, offset: 3, metadata: 'stream-time=5' }, place, session, () => 1).metadata).toBe('stream-time=5')
})
