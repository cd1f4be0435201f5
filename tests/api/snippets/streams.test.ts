import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startServer } from '../../../api/kit/server.ts'
import { type Slot, type StreamsOptions, streams } from '../../../api/snippets/streams.ts'
import { snippetsApi } from './harness.ts'

/** Content that is longer than both a chunk of decompressed data and a file's read buffer. */
const LONG = Array.from({ length: 100_000 }, (_, index) => `line ${(index * 7_919) % 100_003}`).join('\n')
/** More bytes than the two sockets of a local connection buffer. They buffer several megabytes. */
const MORE_THAN_SOCKETS_BUFFER = 10_485_760
const WAIT_MS = 20
const SOON = { timeout: 30_000 }
const ADDRESS = '10.0.0.9'
/** Callback for transfers that are cut off. It does nothing. */
const stays = () => undefined
const TEXT = { 'content-type': 'text/plain' }

/** Opens an API that, by default, allows only one upload and one download of long content at a time. */
async function narrowApi(others: Partial<StreamsOptions> = {}) {
  const clock = { ms: 0 }
  const options = {
    places: 1,
    placesPerCaller: 1,
    maxWaiting: 1,
    maxWaitingPerCaller: 1,
    waitMs: WAIT_MS,
    monotonic: () => clock.ms,
    ...others,
  }
  const own = { incoming: streams(options), outgoing: streams(options) }
  const api = await snippetsApi({ streams: own })
  /** Sends a request from an address. */
  const from = (remoteAddress: string, path: string, init: RequestInit = {}) =>
    api.app.request(path, { duplex: 'half', ...init } as RequestInit, { incoming: { socket: { remoteAddress } } })
  return { ...api, ...own, from, monotonic: clock }
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

test('requests wait for a slot in order, and get a 503 with Retry-After if the queue is full or the wait reaches its limit', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const places = streams({ places: 2, placesPerCaller: 2, maxWaiting: 2, maxWaitingPerCaller: 2, waitMs: 1_000 })
  const take = () => places.take(ADDRESS, stays)
  const [first] = [await take(), await take()]
  const order: string[] = []
  const third = take().then((slot) => {
    order.push('third')
    return slot
  })
  const fourth = take().catch((error) => error)
  await expect(take()).rejects.toMatchObject({ definition: { code: 'unavailable' }, options: { retryAfter: 2 } })
  first.giveBack()
  first.giveBack()
  await third
  expect(order).toEqual(['third'])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await fourth).toMatchObject({ definition: { code: 'unavailable' } })
  expect(places.running).toBe(2)
})

test('a caller may use only a share of the slots and of the queue, and an IPv6 /64 network counts as one caller', async () => {
  const places = streams({ places: 4, placesPerCaller: 2, maxWaiting: 4, maxWaitingPerCaller: 1, waitMs: 60_000 })
  const slots = [await places.take('2001:db8::1', stays), await places.take('2001:db8::2', stays)]
  const waiting = places.take('2001:db8::3', stays)
  await expect(places.take('2001:db8::4', stays)).rejects.toMatchObject({ definition: { code: 'unavailable' } })
  slots.push(await places.take('2001:db8:0:1::1', stays), await places.take('10.0.0.1', stays))
  const other = places.take('10.0.0.2', stays)
  // The caller of the first waiting request already has its maximum number of slots, so the second waiting request gets
  // this slot.
  slots[3].giveBack()
  slots.push(await other)
  slots[0].giveBack()
  slots.push(await waiting)
  expect(places.running).toBe(4)
})

describe('while another request waits', () => {
  /**
   * Fills all slots, each from a different address. Within six seconds, the slots transfer the given numbers of bytes.
   */
  async function fullOf(bytes: readonly number[]) {
    const clock = { ms: 0 }
    const size = { places: bytes.length, placesPerCaller: bytes.length }
    const places = streams({ ...size, maxWaiting: 4, maxWaitingPerCaller: 4, waitMs: WAIT_MS, monotonic: () => clock.ms })
    const cut: number[] = []
    const slots = await Promise.all(bytes.map((_, index) => places.take(`10.0.1.${index}`, () => cut.push(index))))
    for (const slot of slots) slot.awaitClient()
    clock.ms = 6_000
    for (const [index, slot] of slots.entries()) {
      slot.moved(bytes[index])
      slot.awaitClient()
    }
    return { places, slots, cut, clock }
  }

  test('transfers below 16 KiB a second are cut off, the slowest first', async () => {
    const { places, cut } = await fullOf([98_305, 90_000, 64_000, 70_000])
    await places.take(ADDRESS, stays)
    await places.take(ADDRESS, stays)
    await places.take(ADDRESS, stays)
    expect(cut).toEqual([2, 3, 1])
    await expect(places.take(ADDRESS, stays)).rejects.toMatchObject({ definition: { code: 'unavailable' } })
    expect(cut).toEqual([2, 3, 1])
  })

  test('time that the server takes does not lower the measured speed of a transfer', async () => {
    const { places, slots, cut, clock } = await fullOf([98_305])
    slots[0].moved(0)
    clock.ms = 600_000
    await expect(places.take(ADDRESS, stays)).rejects.toThrow()
    slots[0].awaitClient()
    await expect(places.take(ADDRESS, stays)).rejects.toThrow()
    expect(cut).toEqual([])
  })

  test('if a transfer is too new to have a measured speed when another request begins to wait, it can still lose its slot at the end of the wait', async () => {
    const clock = { ms: 0 }
    const size = { places: 1, placesPerCaller: 1, maxWaiting: 1, maxWaitingPerCaller: 1 }
    const places = streams({ ...size, waitMs: WAIT_MS, monotonic: () => clock.ms })
    const young: Slot = await places.take('10.0.1.1', stays)
    young.awaitClient()
    const waiting = places.take(ADDRESS, stays)
    clock.ms = 5_000
    expect(await waiting).toBeDefined()
  })

  test("waiting requests of a caller that has used up its share cut off only the caller's own transfers", async () => {
    const clock = { ms: 0 }
    const size = { places: 3, placesPerCaller: 1, maxWaiting: 1, maxWaitingPerCaller: 1 }
    const places = streams({ ...size, waitMs: WAIT_MS, monotonic: () => clock.ms })
    const cut: string[] = []
    const other = await places.take('10.0.1.1', () => cut.push('other'))
    const own = await places.take(ADDRESS, () => cut.push('own'))
    other.awaitClient()
    own.awaitClient()
    clock.ms = 6_000
    own.moved(50_000)
    own.awaitClient()
    await places.take(ADDRESS, stays)
    expect(cut).toEqual(['own'])
  })
})

test('twenty slow readers from one address leave slots for everybody else', async () => {
  const { create, from } = await narrowApi({ places: 8, placesPerCaller: 6 })
  const long = `/api/v1/pastes/${(await create({ content: LONG })).body.paste_id}/raw`
  const slow = await Promise.all(Array.from({ length: 20 }, () => from('10.0.0.1', long)))
  expect(slow.map(({ status }) => status).sort()).toEqual([...Array(6).fill(200), ...Array(14).fill(503)])
  const other = await from('10.0.0.2', long)
  expect(other.status).toBe(200)
  expect(await other.text()).toBe(LONG)
})

test('a reader below the minimum rate is cut off when a request from another address waits', async () => {
  const { create, from, monotonic, outgoing } = await narrowApi()
  const long = `/api/v1/pastes/${(await create({ content: LONG })).body.paste_id}/raw`
  const slow = await from('10.0.0.1', long)
  const reader = slow.body!.getReader()
  await reader.read()
  monotonic.ms = 60_000
  // This reader is slow, but is not cut off until another request waits for a slot.
  await reader.read()
  monotonic.ms = 120_000
  expect(await (await from('10.0.0.2', long)).text()).toBe(LONG)
  await expect(reader.closed).rejects.toThrow('too slow')
  expect(outgoing.running).toBe(0)
})

test('a reader that stops reading is disconnected when another reader waits', async () => {
  const api = await narrowApi()
  const clear = Buffer.alloc(MORE_THAN_SOCKETS_BUFFER, 'a line of text\n').toString()
  const long = `/api/v1/pastes/${(await api.create({ content: clear })).body.paste_id}/raw`
  const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: Date.now })
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  onTestFinished(async () => {
    socket.destroy()
    await server.close(0)
  })
  socket.write(`GET ${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await once(socket, 'readable')
  await expect.poll(server.connections).toBe(1)
  async function statusOfAnother(): Promise<number> {
    api.monotonic.ms += 3_600_000
    const { status, body } = await api.from('10.0.0.2', long)
    await body?.cancel()
    return status
  }
  // The request is repeated, because the server measures the speed of the reader only after the socket's buffers are
  // full.
  await expect.poll(statusOfAnother, SOON).toBe(200)
  await expect.poll(server.connections, SOON).toBe(0)
})

test('an upload below the minimum rate gets a 408 when another upload waits, and leaves nothing behind', async () => {
  const { from, incoming, monotonic, draftFolder } = await narrowApi()
  const { body, goOn } = haltingBody()
  const post = { method: 'POST', headers: TEXT }
  const slow = from('10.0.0.1', '/api/v1/pastes', { ...post, body })
  await expect.poll(() => incoming.running).toBe(1)
  // Waits until the first half of the body is stored. From then on, the server waits for the client, so the passing
  // time lowers the measured speed of the upload.
  await expect.poll(() => readdirSync(draftFolder).length).toBe(1)
  async function statusOfAnother(): Promise<number> {
    monotonic.ms += 120_000
    return (await from('10.0.0.2', '/api/v1/pastes', { ...post, body: LONG })).status
  }
  await expect.poll(statusOfAnother, SOON).toBe(201)
  expect(readdirSync(draftFolder)).toEqual([])
  goOn()
  const refused = await slow
  expect([refused.status, (await refused.json()).error]).toEqual([408, 'request_timeout'])
  expect(incoming.running).toBe(0)
})

test('long content that arrives while all slots are taken gets 503 and is not stored, but short content is stored', async () => {
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

test('a reader that reads nothing for a minute loses its slot, and its response is cut off', async () => {
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

test('a burning snippet does not lose a read if no slot is free', async () => {
  const { app, create, outgoing } = await narrowApi()
  const { body } = await create({ content: LONG, burn_after_reads: 1 })
  const slot = await outgoing.take(ADDRESS, stays)
  expect((await app.request(`/api/v1/pastes/${body.paste_id}/raw`)).status).toBe(503)
  slot.giveBack()
  expect(await (await app.request(`/api/v1/pastes/${body.paste_id}/raw`)).text()).toBe(LONG)
  expect(outgoing.running).toBe(0)
})
