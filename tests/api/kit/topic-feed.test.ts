import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../api/kit/logging.ts'
import { topicFeedOpener } from '../../../api/kit/topic-feed.ts'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { textTopic } from '../../pipelines/engine/words.ts'
import { recreatable, watchProbe } from './recreatable.ts'

const topic = textTopic('notes', 1)

test('after the topic was deleted and created again, the service gets the contents of the new topic', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: topic.partitions })
  const { transport, recreate } = recreatable(broker)
  const registry = memoryRegistry()

  function put(key: string, text: string | null): void {
    const out = byteWriter()
    if (text !== null) topic.value.open(0, { get: () => undefined }).encode(text, out)
    const value = text === null ? null : Buffer.from(out.buffer.subarray(0, out.length))
    broker.append(topic.name, 0, { timestamp: 1, key: Buffer.from(key), value, headers: [] })
  }

  const held = new Map<string, string>()
  const gone: string[] = []
  const replacing: (string | undefined)[] = []
  const open = topicFeedOpener({ transport, registry, log: createLogger('silent'), monotonic: () => performance.now() })
  for (const key of ['a', 'b', 'c']) put(key, `old ${key}`)
  const feed = await open(
    topic,
    (key, value, replaces) => {
      if (replaces) replacing.push(value)
      if (value !== undefined) return held.set(key, value)
      gone.push(key)
      return held.delete(key)
    },
    () => held.keys(),
  )
  onTestFinished(() => feed.close())
  await expect.poll(() => feed.probe.check()).toBeUndefined()
  put('c', null)
  await expect.poll(() => gone).toEqual(['c'])
  const probed = watchProbe(feed.probe.check)
  recreate(topic.name, () => {
    for (const text of ['new b', 'newer b']) put('b', text)
    put('d', 'new d')
  })
  await expect
    .poll(() => [...held])
    .toEqual([
      ['b', 'newer b'],
      ['d', 'new d'],
    ])
  expect(gone).toEqual(['c', 'a'])
  expect(replacing).toEqual(['new b', undefined])
  expect(await probed()).toEqual([undefined])
})
