import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { redisResultChannel } from '../../../api/kit/commands/result-channel.ts'
import { waitingRoom } from '../../../api/kit/commands/waiting.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../api/kit/redis.ts'
import { connectLookupRedis, connectSinkRedis } from '../../../state/views/connect.ts'
import { viewReader } from '../../../state/views/reader.ts'
import { RESULT_CHANNEL_PREFIX } from '../../../state/views/results.ts'
import { viewTag } from '../../../state/views/view.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { vanishingProxy } from './vanishing-proxy.ts'

const SOON = { timeout: 30_000, interval: 20 }
const silent = pino({ level: 'silent' })

async function opened() {
  const redisUrl = await testStack().redis()
  const direct = new Redis(redisUrl)
  onTestFinished(() => direct.disconnect())
  const { url, vanish } = await vanishingProxy(redisUrl)
  return { direct, place: { url, cluster: false }, vanish }
}

test('after the host of Redis vanished without closing its connections, reads and writes reach the new Redis', async () => {
  const { place, vanish } = await opened()
  const sink = connectSinkRedis(place, silent)
  const lookup = connectLookupRedis(place, silent)
  const views = connectViewRedis({ ...place, log: createLogger('silent'), monotonic: () => performance.now() })
  onTestFinished(async () => {
    sink.disconnect()
    lookup.disconnect()
    await views.close()
  })
  const key = uniqueName('key')
  const uses = [() => sink.set(key, 'written'), () => lookup.get(key), () => views.reader.get(key), () => views.shared.get(key)]
  const work = async () => void (await Promise.all(uses.map((use) => expect.poll(() => use().then(Boolean, () => false), SOON).toBe(true))))
  await work()
  vanish()
  await work()
})

test('results arrive as messages again after the host of Redis vanished without closing its connections', async () => {
  const { direct, place, vanish } = await opened()
  const name = uniqueName('api')
  const channel = redisResultChannel({ ...place, name, log: createLogger('silent') })
  const room = waitingRoom({ channel, reader: viewReader(direct), monotonic: () => performance.now() })
  onTestFinished(() => room.close())
  await expect.poll(() => channel.isOpen, SOON).toBe(true)
  vanish()

  const view = uniqueName('view')
  const placeOf = (commandId: string) => ({ commandId, view, partition: 0 })
  await direct.set(`${viewTag(view, 0)}:result:stored`, 'hash {}')
  expect(await room.wait(placeOf('stored'), SOON.timeout).result).toMatchObject({ outcome: 'decided', answer: '{}' })

  let isHeard = false
  void room.wait(placeOf('published'), SOON.timeout).result.then((result) => {
    isHeard = result !== undefined
  })
  const publish = () => direct.publish(RESULT_CHANNEL_PREFIX + name, 'published decided {}')
  await expect.poll(() => publish().then(() => isHeard), SOON).toBe(true)
})
