import { Readable } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { streams } from '../../../api/snippets/streams.ts'
import { snippetsApi } from './harness.ts'

/** A content that is longer than one chunk of decompression and than the buffer of a closed file. */
const LONG = Array.from({ length: 100_000 }, (_, index) => `line ${(index * 7_919) % 100_003}`).join('\n')
const WAIT_MS = 20
const TEXT = { 'content-type': 'text/plain' }

/** Opens an API that allows one incoming and one outgoing content at a time. */
async function narrowApi() {
  const options = { places: 1, maxWaiting: 1, waitMs: WAIT_MS }
  const own = { incoming: streams(options), outgoing: streams(options) }
  return { ...(await snippetsApi({ streams: own })), ...own }
}

/** Creates a body that pauses in the middle until the test resumes it. */
function haltingBody() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const bytes = Buffer.from(LONG)
  async function* pieces() {
    yield bytes.subarray(0, bytes.length / 2)
    await promise
    yield bytes.subarray(bytes.length / 2)
  }
  return { body: Readable.toWeb(Readable.from(pieces())) as unknown as ReadableStream, goOn: resolve }
}

test('requests wait for a slot in order, and get a 503 with Retry-After if too many wait or one waits too long', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const places = streams({ places: 2, maxWaiting: 2, waitMs: 1_000 })
  const { take } = places
  const [first] = [await take(), await take()]
  const order: string[] = []
  const third = take().then((giveBack) => {
    order.push('third')
    return giveBack
  })
  const fourth = take().catch((error) => error)
  await expect(take()).rejects.toMatchObject({ definition: { code: 'unavailable' }, options: { retryAfter: 2 } })
  first()
  first()
  await third
  expect(order).toEqual(['third'])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await fourth).toMatchObject({ definition: { code: 'unavailable' } })
  expect(places.running).toBe(2)
})

test('a long content that arrives while all slots are taken answers 503 and is not stored, but short ones pass', async () => {
  const { send, create, incoming } = await narrowApi()
  const { body, goOn } = haltingBody()
  const first = send('POST', '/api/v1/pastes', { body, headers: TEXT })
  await expect.poll(() => incoming.running).toBe(1)
  const refused = await create({ content: LONG })
  expect([refused.status, refused.body.error, refused.headers.get('retry-after')]).toEqual([503, 'unavailable', '2'])
  expect((await create({ content: 'short' })).status).toBe(201)
  goOn()
  expect((await first).status).toBe(201)
  expect(incoming.running).toBe(0)
  expect((await create({ content: LONG })).status).toBe(201)
})

test.each(['', '/raw'])('a slow reader (%s) keeps its slot until it has finished or disconnected', async (path) => {
  const { app, create, outgoing } = await narrowApi()
  const { body } = await create({ content: LONG })
  const long = `/api/v1/pastes/${body.paste_id}${path}`
  const short = `/api/v1/pastes/${(await create({ content: 'short' })).body.paste_id}${path}`
  for (const end of ['reads', 'goes'] as const) {
    const slow = await app.request(long)
    expect(slow.status).toBe(200)
    const refused = await app.request(long)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await app.request(short)).status).toBe(200)
    expect((await app.request(long, { method: 'HEAD' })).status).toBe(200)
    if (end === 'reads') expect((await slow.text()).length).toBeGreaterThanOrEqual(LONG.length)
    else await slow.body!.cancel()
    await expect.poll(() => outgoing.running).toBe(0)
  }
})

test('a reader that reads nothing for a minute loses its slot, and its answer is cut off', async () => {
  const { app, create, outgoing } = await narrowApi()
  const { body } = await create({ content: LONG })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stalled = await app.request(`/api/v1/pastes/${body.paste_id}/raw`)
  expect(outgoing.running).toBe(1)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(outgoing.running).toBe(0)
  await expect(stalled.text()).rejects.toThrow()
})

test('a burning snippet loses no read if no slot is free', async () => {
  const { app, create, outgoing } = await narrowApi()
  const { body } = await create({ content: LONG, burn_after_reads: 1 })
  const giveBack = await outgoing.take()
  expect((await app.request(`/api/v1/pastes/${body.paste_id}/raw`)).status).toBe(503)
  giveBack()
  expect(await (await app.request(`/api/v1/pastes/${body.paste_id}/raw`)).text()).toBe(LONG)
  expect(outgoing.running).toBe(0)
})
