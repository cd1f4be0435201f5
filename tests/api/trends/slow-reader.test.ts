import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { cacheableAnswer } from '../../../api/kit/answer.ts'
import { trendStreams } from '../../../api/trends/stream/streams.ts'
import { regions } from '../../../schemas/trends/places/regions.ts'

const SECOND_MS = 1_000
const [WORLD] = regions

/** Opens a stream of a list that the test can change, and reads it chunk by chunk. */
async function world() {
  const clock = { now: 0 }
  const state = { text: '"0"', error: undefined as Error | undefined }
  const registry = new Registry()
  const lists = {
    async plain() {
      if (state.error !== undefined) throw state.error
      return cacheableAnswer(state.text, {})
    },
  }
  const streams = trendStreams({ lists, registry, now: () => clock.now, monotonic: () => clock.now })
  const body = (await streams.open(WORLD, false, '203.0.113.1', false)).body as ReadableStream<Uint8Array>
  const reader = body.getReader()
  async function next(): Promise<string | undefined> {
    const { value } = await reader.read()
    return value === undefined ? undefined : Buffer.from(value).toString()
  }
  async function change(to: number): Promise<void> {
    state.text = `"${to}"`
    await streams.look()
  }
  const count = async () => Number(/trends_stream_readers (\d+)/.exec(await registry.metrics())![1])
  return { clock, state, streams, reader, next, change, count }
}

const listOf = (number: number) => `event: list\ndata: "${number}"\n\n`

test('a reader that is slower than the changes skips to the newest list', async () => {
  const { next, change, streams } = await world()
  for (const number of [1, 2, 3]) await change(number)
  expect(await next()).toBe(`retry: 5000\n${listOf(0)}`)
  expect(await next()).toBe(listOf(3))
  await change(4)
  expect(await next()).toBe(listOf(4))
  streams.stop()
  expect(await next()).toBeUndefined()
})

test('a reader that has read nothing for a minute is disconnected', async () => {
  const { clock, next, change, count, streams, reader } = await world()
  await change(1)
  clock.now += 60 * SECOND_MS
  await change(2)
  expect(await count()).toBe(1)
  clock.now += 1
  await streams.look()
  expect(await count()).toBe(0)
  await expect(next()).rejects.toThrow('too slowly')
  await reader.closed.catch(() => undefined)
})

test('a reader that keeps reading stays connected', async () => {
  const { clock, next, change, count, streams } = await world()
  await next()
  for (const number of [1, 2, 3]) {
    clock.now += 61 * SECOND_MS
    await change(number)
    expect(await next()).toBe(listOf(number))
  }
  expect(await count()).toBe(1)
  streams.stop()
})

test('an unexpected error disconnects the readers', async () => {
  const { state, next, streams, count, reader } = await world()
  await next()
  state.error = new TypeError('a fault')
  await streams.look()
  await expect(next()).rejects.toThrow('a fault')
  expect(await count()).toBe(0)
  await reader.closed.catch(() => undefined)
})

test('a client that disconnects frees its place immediately', async () => {
  const { reader, count } = await world()
  expect(await count()).toBe(1)
  await reader.cancel()
  expect(await count()).toBe(0)
})
