import type { Registry } from 'prom-client'
import type { Region } from '../../../schemas/trends/places/regions.ts'
import { SERVED_ENTRIES } from '../../../state/views/trends/trends.ts'
import type { Answer } from '../../kit/answer.ts'
import { limitedAddress } from '../../kit/client-address.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { gauge } from '../../kit/metrics.ts'
import { trendsErrors } from '../errors.ts'
import { STALE_AFTER_MS, type TrendLists } from '../lists.ts'
import { type StreamReader, streamReader } from './reader.ts'

/** Sends lists to the readers of this process when the lists change: docs/services/trends.md#streams */
export interface TrendStreams {
  /**
   * Returns a stream that begins with the current list. Throws `too_many_readers`, `unavailable` after `stop`, and the
   * same errors as `TrendLists.plain`.
   * @param address the reader's address. All addresses of an IPv6 /64 count as one.
   * @param isHead whether only the headers are requested
   */
  open(region: Region, safe: boolean, address: string, isHead: boolean): Promise<Answer>
  /** Sends changed lists and heartbeats, and disconnects slow readers. Called every second while there are readers. */
  look(): Promise<void>
  /** Ends all streams and refuses new streams, because a stopping process waits for open answers. */
  stop(): void
}

export interface TrendStreamsOptions {
  readonly lists: Pick<TrendLists, 'plain'>
  readonly registry: Registry
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

/** Maximum number of readers. Each reader needs a connection and a few kilobytes. */
export const MAX_READERS = 1_000
/**
 * Maximum number of readers with one address. Behind a load balancer, the limit on connections per address does not
 * apply. Without a limit on readers, one client could therefore take all streams.
 */
export const MAX_READERS_PER_ADDRESS = 100
const LOOK_EVERY_MS = 1_000
/**
 * Interval between comments. Common proxies close a connection after 60 s without traffic, so the interval is shorter.
 */
const HEARTBEAT_EVERY_MS = 15_000
/**
 * How long a client may leave an event unread before it is disconnected. A client that stops reading must not occupy a
 * stream forever.
 */
const MAX_BEHIND_MS = 60_000
const RETRY_AFTER_SECONDS = 30
const EVENT_STREAM = 'text/event-stream; charset=utf-8'
/** Headers of a stream. The last header keeps nginx from buffering events. */
const HEADERS = { 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
/** Field that sets how many ms a browser waits before it connects again. */
const RETRY = 'retry: 5000\n'
const STALE: unique symbol = Symbol('stale')

/**
 * The list of one region, and its readers. Each channel reads the list once for all of its readers. A channel without
 * readers is kept, together with the list that was sent last. There are at most two channels per region, one for each
 * value of `safe`.
 */
interface Channel {
  readonly region: Region
  readonly safe: boolean
  /** The readers with their addresses. */
  readonly readers: Map<StreamReader, string>
  /** The ETag of the list that was sent last; STALE if the event `stale` was sent last; undefined before any event. */
  sent: string | typeof STALE | undefined
  /** The list that was sent last; undefined if no list was sent. */
  body: Uint8Array | undefined
  event: Uint8Array
  looking: Promise<void> | undefined
}

export function trendStreams({ lists, registry, now, monotonic }: TrendStreamsOptions): TrendStreams {
  const channels = new Map<string, Channel>()
  const byAddress = new Map<string, number>()
  let readers = 0
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let beatenAt = 0
  gauge(registry, 'trends_stream_readers', 'Open streams of trend lists', () => readers)

  function channelOf(region: Region, safe: boolean): Channel {
    const key = `${region.woeid}:${safe}`
    let channel = channels.get(key)
    if (channel === undefined) {
      channel = { region, safe, readers: new Map(), sent: undefined, body: undefined, event: Buffer.alloc(0), looking: undefined }
      channels.set(key, channel)
    }
    return channel
  }

  /** Sends the list to all readers of the channel, if it has changed. */
  function refresh(channel: Channel): Promise<void> {
    channel.looking ??= sendChanged(channel).finally(() => {
      channel.looking = undefined
    })
    return channel.looking
  }

  async function sendChanged(channel: Channel): Promise<void> {
    const answer = await lists.plain(channel.region, SERVED_ENTRIES, channel.safe)
    if (answer.headers.ETag === channel.sent) return
    channel.sent = answer.headers.ETag
    channel.body = answer.body as Uint8Array
    channel.event = eventOf('list', channel.body)
    for (const reader of channel.readers.keys()) reader.send(channel.event)
  }

  function onFailedLook(channel: Channel, error: unknown): void {
    if (!(error instanceof ApiError)) {
      // The readers are disconnected. When they connect again, they get the error as an answer, and the error is
      // logged.
      for (const reader of [...channel.readers.keys()]) cut(channel, reader, error)
    } else if (channel.sent !== STALE && (error.definition === trendsErrors.trends_stale || isTooOld(channel))) {
      channel.sent = STALE
      channel.event = eventOf('stale', Buffer.from(JSON.stringify({ woeid: channel.region.woeid })))
      for (const reader of channel.readers.keys()) reader.send(channel.event)
    }
  }

  /** Returns whether the list of a channel is too old. A list also becomes too old while newer lists cannot be read. */
  function isTooOld({ body }: Channel): boolean {
    if (body === undefined) return false
    const { as_of } = JSON.parse(Buffer.from(body).toString()) as { readonly as_of: string }
    return now() > Date.parse(as_of) + STALE_AFTER_MS
  }

  function cut(channel: Channel, reader: StreamReader, cause: unknown): void {
    leave(channel, reader)
    reader.fail(cause)
  }

  function join(channel: Channel, reader: StreamReader, address: string): void {
    channel.readers.set(reader, address)
    byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
    readers++
    startLooking()
  }

  function leave(channel: Channel, reader: StreamReader): void {
    const address = channel.readers.get(reader)
    if (address === undefined) return
    channel.readers.delete(reader)
    const left = byAddress.get(address)! - 1
    if (left === 0) byAddress.delete(address)
    else byAddress.set(address, left)
    readers--
    if (readers === 0) stopLooking()
  }

  function startLooking(): void {
    if (timer !== undefined) return
    beatenAt = monotonic()
    timer = setInterval(() => void look(), LOOK_EVERY_MS)
  }

  function stopLooking(): void {
    clearInterval(timer)
    timer = undefined
  }

  function beat(): void {
    const isDue = monotonic() - beatenAt >= HEARTBEAT_EVERY_MS
    if (isDue) beatenAt = monotonic()
    for (const channel of channels.values()) {
      for (const reader of [...channel.readers.keys()]) {
        if (reader.behindMs() > MAX_BEHIND_MS) cut(channel, reader, new Error('the client reads too slowly'))
        else if (isDue) reader.beat()
      }
    }
  }

  async function look(): Promise<void> {
    const read = [...channels.values()].filter((channel) => channel.readers.size > 0)
    const looks = read.map((channel) => refresh(channel).catch((error) => onFailedLook(channel, error)))
    await Promise.all(looks)
    beat()
  }

  function assertRoom(address: string): void {
    if (isStopped) throw new ApiError(errors.unavailable, { message: 'The API is stopping. Connect again.' })
    const isFull = readers >= MAX_READERS || (byAddress.get(address) ?? 0) >= MAX_READERS_PER_ADDRESS
    if (isFull) throw new ApiError(trendsErrors.too_many_readers, { retryAfter: RETRY_AFTER_SECONDS })
  }

  return {
    async open(region, safe, from, isHead) {
      const address = limitedAddress(from)
      assertRoom(address)
      const channel = channelOf(region, safe)
      await refresh(channel)
      // During the wait, other readers may have connected, or the process may have begun to stop.
      assertRoom(address)
      if (isHead) return { status: 200, headers: HEADERS, body: null }
      const first = Buffer.concat([Buffer.from(RETRY), channel.event])
      const reader = streamReader({ first, onGone: () => leave(channel, reader), monotonic })
      join(channel, reader, address)
      return { status: 200, headers: HEADERS, body: reader.body }
    },
    look,
    stop() {
      isStopped = true
      stopLooking()
      for (const channel of channels.values()) {
        for (const reader of channel.readers.keys()) reader.end()
        channel.readers.clear()
      }
      byAddress.clear()
      readers = 0
    },
  }
}

/** Encodes an event. The JSON of a list has no line break, so it is a single line of data. */
function eventOf(name: string, json: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`event: ${name}\ndata: `), json, Buffer.from('\n\n')])
}
