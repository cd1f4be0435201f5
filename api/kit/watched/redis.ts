import { Cluster, type Redis } from 'ioredis'
import type { CancelTimer } from '../../../runtime/runtime.ts'
import { connectRedis, type RedisPlace } from '../../../state/views/connect.ts'
import type { Logger } from '../logging.ts'
import { READING, sharedReader } from '../redis.ts'
import type { SharedReader } from '../shared-reads.ts'
import { WatchedKeys, type WatchedRead, type WatchedViews } from './watched-keys.ts'

export interface WatchedRedisOptions extends RedisPlace {
  /** Reads values while Redis does not report changes. */
  readonly unwatched: SharedReader
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  setTimer(ms: number, callback: () => void): CancelTimer
}

export interface WatchedRedis extends WatchedViews {
  close(): void
}

/** The channel on which Redis reports changed keys to a connection that uses RESP2. */
const CHANGES = '__redis__:invalidate'
/** Pause before reports are requested again after a failure. */
const RETRY_MS = 5_000

/**
 * Opens the views in Redis for watched reads: Redis reports when a value that was read has changed (`CLIENT TRACKING`).
 * A process that never begins such a read opens no connections. Each node of Redis gets two connections: one for the
 * reads, and one for the reports. Redis sends reports in order, so the answer to a PING on the second connection
 * confirms that all earlier changes have been reported.
 */
export function watchedRedis(options: WatchedRedisOptions): WatchedRedis {
  let open: { keys: WatchedKeys; close(): void } | undefined
  return {
    begin(): WatchedRead {
      open ??= opened(options)
      return open.keys.begin()
    },
    close: () => open?.close(),
  }
}

function opened({ url, cluster, unwatched, log, now, setTimer }: WatchedRedisOptions) {
  // Failures are not logged here, because the connection for all other reads logs the same failures.
  const silent = { onLost() {}, onReady() {}, onEviction() {} }
  const redis = connectRedis({ url, cluster, settings: READING, ...silent })
  const links = new Map<Redis, Link>()
  const reported = async () => void (await Promise.all([...links.values()].map((link) => link.reported())))
  const keys = new WatchedKeys({ unwatched, watched: sharedReader(redis), reported, now })

  function changed(key: string | null): void {
    if (key === null) keys.changedAll()
    else keys.changed(key)
  }

  /**
   * Any open connection may serve a read. Reads therefore count as watched only while reports work for all open
   * connections.
   */
  function onLinks(): void {
    const states = [...links.values()].map(({ state }) => state)
    if (states.includes('reporting') && !states.includes('connecting')) keys.start()
    else keys.stop()
  }

  function add(node: Redis): void {
    links.set(node, new Link(node, { changed, onState: onLinks, setTimer, log }))
    onLinks()
  }

  function remove(node: Redis): void {
    links.get(node)?.close()
    links.delete(node)
    onLinks()
  }

  if (redis instanceof Cluster) {
    redis.on('+node', add)
    redis.on('-node', remove)
    for (const node of redis.nodes()) add(node)
  } else add(redis)

  return {
    keys,
    close() {
      for (const link of links.values()) link.close()
      redis.disconnect()
    },
  }
}

interface LinkDeps {
  /** @param key null if all keys may have changed */
  changed(key: string | null): void
  onState(): void
  setTimer(ms: number, callback: () => void): CancelTimer
  readonly log: Logger
}

/** The reports about the keys that one connection has read. */
class Link {
  /** State of the reading connection. A connection that is not open reads nothing, so it needs no reports. */
  state: 'closed' | 'connecting' | 'reporting' = 'closed'
  readonly #node: Redis
  readonly #deps: LinkDeps
  #reports: Redis | undefined
  #cancelRetry: CancelTimer = () => {}
  #hasWarned = false
  readonly #listeners = {
    connect: () => this.#setState('connecting'),
    ready: () => void this.#request(),
    close: () => this.#drop('closed'),
  }

  constructor(node: Redis, deps: LinkDeps) {
    this.#node = node
    this.#deps = deps
    for (const [event, listener] of Object.entries(this.#listeners)) node.on(event, listener)
    if (node.status === 'connect' || node.status === 'ready') this.state = 'connecting'
    if (node.status === 'ready') void this.#request()
  }

  /** Resolves when all changes that happened before the call have been reported. */
  async reported(): Promise<void> {
    if (this.#reports === undefined) return
    try {
      await this.#reports.ping()
    } catch (error) {
      // The connection may be dead without having been closed, so it is replaced.
      this.#reports?.disconnect()
      throw error
    }
  }

  close(): void {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#node.off(event, listener)
    this.#drop('closed')
  }

  /** Requests reports about all keys that this connection reads from now on. */
  async #request(): Promise<void> {
    const reports = this.#node.duplicate({
      ...READING,
      protocol: 2,
      lazyConnect: true,
      autoResubscribe: false,
      enableReadyCheck: false,
      retryStrategy: () => null,
    })
    this.#reports?.disconnect()
    this.#reports = reports
    reports.on('error', () => {})
    reports.on('close', () => this.#lost(reports, 'the connection was closed'))
    reports.on('messageBuffer', (_channel: Buffer, changed: readonly (Buffer | string)[] | null) => {
      if (changed === null) this.#deps.changed(null)
      else for (const key of changed) this.#deps.changed(String(key))
    })
    try {
      await reports.connect()
      const id = await reports.client('ID')
      await reports.subscribe(CHANGES)
      await this.#node.client('TRACKING', 'ON', 'REDIRECT', id)
      if (this.#reports !== reports) return
      this.#hasWarned = false
      this.#setState('reporting')
    } catch (error) {
      this.#lost(reports, (error as Error).message)
    }
  }

  #lost(reports: Redis, reason: string): void {
    if (this.#reports !== reports) return
    if (!this.#hasWarned) this.#deps.log.warn({ reason }, 'redis_does_not_report_changes')
    this.#hasWarned = true
    this.#drop('connecting')
    this.#cancelRetry = this.#deps.setTimer(RETRY_MS, () => void this.#request())
  }

  #drop(state: 'closed' | 'connecting'): void {
    this.#cancelRetry()
    const reports = this.#reports
    this.#reports = undefined
    reports?.disconnect()
    this.#setState(state)
  }

  #setState(state: Link['state']): void {
    this.state = state
    this.#deps.onState()
  }
}
