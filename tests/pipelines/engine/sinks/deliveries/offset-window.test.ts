import { expect, test } from 'vitest'
import { topicIdIn, withTopicId } from '../../../../../pipelines/engine/sinks/committed-topic.ts'
import { doneOffsets, MAX_WINDOW_SPAN, offsetWindow } from '../../../../../pipelines/engine/sinks/deliveries/offset-window.ts'

/** Kafka's default for `offset.metadata.max.bytes`. */
const MAX_METADATA = 4_096

test('the next offset of a window is the first offset that is not done', () => {
  const window = offsetWindow(5)
  expect([window.next, window.end, window.metadata()]).toEqual([5, 5, ''])
  for (const offset of [5, 6, 9]) window.add(offset)
  expect([window.next, window.end]).toEqual([5, 10])
  window.finish(6)
  expect(window.next).toBe(5)
  expect(doneOffsets(window.next, window.metadata())).toEqual(new Set([6]))
  window.finish(5)
  expect([window.next, window.metadata()]).toEqual([9, ''])
  window.finish(9)
  window.skipTo(12)
  expect([window.next, window.end, window.metadata()]).toEqual([12, 12, ''])
})

test('records that were done before the window was created stay done until the window has passed them', () => {
  const window = offsetWindow(5, [6, 8])
  expect(doneOffsets(window.next, window.metadata())).toEqual(new Set([6, 8]))
  expect([5, 6, 7, 8, 9].map((offset) => window.add(offset))).toEqual([true, false, true, false, true])
  window.finish(5)
  expect(window.next).toBe(7)
  expect(doneOffsets(window.next, window.metadata())).toEqual(new Set([8]))
})

test('if an offset that is done is added again, its new record is delivered', () => {
  const window = offsetWindow(5)
  for (const offset of [5, 6]) window.add(offset)
  window.finish(6)
  expect(window.add(6)).toBe(true)
})

test('the metadata of a commit names the topic, but metadata of earlier versions does not', () => {
  const window = offsetWindow(5, [6])
  const earlier = window.metadata()
  const metadata = withTopicId('AAECAwQFBgcICQoLDA0ODw', earlier)
  expect([topicIdIn(metadata), topicIdIn(earlier), topicIdIn('')]).toEqual(['AAECAwQFBgcICQoLDA0ODw', undefined, undefined])
  expect(doneOffsets(5, metadata)).toEqual(new Set([6]))
  expect(topicIdIn(withTopicId('id', ''))).toBe('id')
  expect(withTopicId('', earlier)).toBe(earlier)
})

test('the metadata fits into a commit, and offsets that it does not cover count as not done', () => {
  const window = offsetWindow(100)
  const last = 100 + 2 * MAX_WINDOW_SPAN
  for (let offset = 100; offset <= last; offset++) window.add(offset)
  for (let offset = 101; offset <= last; offset++) window.finish(offset)
  const metadata = withTopicId('AAECAwQFBgcICQoLDA0ODw', window.metadata())
  expect(metadata.length).toBeLessThanOrEqual(MAX_METADATA)
  const done = doneOffsets(100, metadata)
  expect(done.size).toBe(MAX_WINDOW_SPAN - 1)
  expect(Math.max(...done)).toBe(100 + MAX_WINDOW_SPAN - 1)
})

test.each(['', 'memory', 'done:', 'done:%%%', 'event-time 5'])(
  'if the metadata has another format, all offsets count as not done: %j',
  (metadata) => {
    expect(doneOffsets(7, metadata)).toEqual(new Set())
  },
)

test('reading a commit back gives every done offset after the next offset, and no other offset', () => {
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  for (let round = 0; round < 200; round++) {
    const window = offsetWindow(round)
    const added: number[] = []
    for (let offset = round; offset < round + 300; offset++) if (random() < 0.9) added.push(offset)
    for (const offset of added) window.add(offset)
    const done = added.filter(() => random() < 0.5)
    for (const offset of done) window.finish(offset)
    const { next } = window
    expect(next).toBe(added.find((offset) => !done.includes(offset)))
    expect(doneOffsets(next, window.metadata())).toEqual(new Set(done.filter((offset) => offset > next)))
  }
})
