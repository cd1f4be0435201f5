import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { batches } from '../../../api/kit/batches.ts'

/** Requests that end when they are told to. */
function requests(options: { spacingMs?: number; maxItems?: number; maxBytes?: number; maxInFlight?: number; maxWaiting?: number } = {}) {
  const sent: { items: readonly number[]; end(): void; fail(error: Error): void }[] = []
  const sender = batches<number>({
    send(items) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      sent.push({ items, end: resolve, fail: reject })
      return promise
    },
    spacingMs: options.spacingMs ?? 1,
    maxItems: options.maxItems ?? 100,
    maxBytes: options.maxBytes ?? 1_000,
    bytesOf: () => 1,
    maxInFlight: options.maxInFlight ?? 2,
    maxWaiting: options.maxWaiting ?? 100,
  })
  return { sender, sent, sentItems: () => sent.map(({ items }) => items) }
}

test('what comes together shares a request; all of it is acknowledged with it', async () => {
  const { sender, sent, sentItems } = requests()
  const added = [1, 2, 3].map((item) => sender.add(item).sent)
  await expect.poll(sentItems).toEqual([[1, 2, 3]])
  sent[0].end()
  await Promise.all(added)
})

test('what comes alone goes at once; what comes soon after waits for the next request', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { sender, sentItems } = requests({ spacingMs: 50, maxInFlight: 3 })
  void sender.add(1).sent
  await vi.advanceTimersByTimeAsync(0)
  expect(sentItems()).toEqual([[1]])
  void sender.add(2).sent
  await vi.advanceTimersByTimeAsync(49)
  void sender.add(3).sent
  expect(sentItems()).toEqual([[1]])
  await vi.advanceTimersByTimeAsync(1)
  expect(sentItems()).toEqual([[1], [2, 3]])
  await vi.advanceTimersByTimeAsync(1_000)
  void sender.add(4).sent
  await vi.advanceTimersByTimeAsync(0)
  expect(sentItems()).toEqual([[1], [2, 3], [4]])
})

test('a request that fails fails all that it carried, and no other', async () => {
  const { sender, sent } = requests({ maxItems: 1 })
  const [one, other] = [sender.add(1).sent, sender.add(2).sent]
  const failed = expect(one).rejects.toThrow('refused')
  await expect.poll(() => sent.length).toBe(2)
  sent[0].fail(new Error('refused'))
  sent[1].end()
  await failed
  await other
})

test('while as many requests as allowed are under way, the next batch grows; then it goes at once', async () => {
  const { sender, sent, sentItems } = requests({ maxInFlight: 1 })
  void sender.add(1).sent
  await expect.poll(() => sent.length).toBe(1)
  for (const item of [2, 3, 4]) void sender.add(item).sent
  await delay(5)
  expect(sentItems()).toEqual([[1]])
  sent[0].end()
  await expect.poll(sentItems).toEqual([[1], [2, 3, 4]])
})

test('a batch ends with the item that fills it', async () => {
  const { sender, sentItems } = requests({ maxBytes: 2 })
  for (const item of [1, 2, 3]) void sender.add(item).sent
  await expect.poll(sentItems).toEqual([[1, 2], [3]])
})

test('what is cancelled in time is not sent; what is too much is refused at once', async () => {
  const { sender, sentItems } = requests({ maxWaiting: 2 })
  sender.add(1).cancel()
  for (const item of [2, 3]) void sender.add(item).sent
  expect(() => sender.add(4)).toThrow('2 records wait already')
  await expect.poll(sentItems).toEqual([[2, 3]])
})
