import { isWithin } from '../age.ts'
import type { SharedReader } from '../shared-reads.ts'

/** Reads values, and can later tell whether they are still current. */
export interface WatchedRead extends SharedReader {
  /**
   * Returns the latest known time at which everything that was read was still current, in epoch ms; -Infinity if this
   * has not been confirmed yet. Returns undefined if something may have changed.
   */
  unchangedAt(): number | undefined
}

/** Views in Redis, which reports when a value that was read has changed. */
export interface WatchedViews {
  /** Starts a read. Use the same read for all values that one result depends on. */
  begin(): WatchedRead
}

export interface WatchedKeysOptions {
  /** Reads values without watching them, while no changes are reported. */
  readonly unwatched: SharedReader
  /** Reads values whose changes are reported. */
  readonly watched: SharedReader
  /**
   * Resolves when all changes that happened before the call have been reported. Rejects if changes may not have been
   * reported.
   */
  reported(): Promise<void>
  /** Epoch ms. */
  now(): number
}

/** Something that a read depends on: a key, or the period in which changes are reported. */
interface Watched {
  hasChanged: boolean
}

/**
 * Maximum number of watched keys. Each takes about 150 bytes. When this limit is exceeded, all keys are forgotten, so
 * every result must be read once more.
 */
const MAX_KEYS = 250_000
/** Age at which a confirmation is renewed. A confirmation means that all earlier changes have been reported. */
const CONFIRM_AFTER_MS = 300

/**
 * Remembers which keys have changed since they were read. Registers a key before reading it, so that a change that is
 * reported before the value arrives is not missed.
 */
export class WatchedKeys implements WatchedViews {
  readonly #options: WatchedKeysOptions
  readonly #unwatched: WatchedRead
  #keys = new Map<string, Watched>()
  /** The current period in which changes are reported without a gap; undefined while they are not reported. */
  #period: Watched | undefined
  #confirmedAt = Number.NEGATIVE_INFINITY
  #isConfirming = false

  constructor(options: WatchedKeysOptions) {
    this.#options = options
    this.#unwatched = { ...options.unwatched, unchangedAt: () => undefined }
  }

  begin(): WatchedRead {
    return this.#period === undefined ? this.#unwatched : new Read(this, this.#options.watched, this.#period)
  }

  /** Call this when Redis begins to report changes. */
  start(): void {
    this.stop()
    this.#period = { hasChanged: false }
  }

  /** Call this when changes may be missed from now on. Everything that has been read counts as changed. */
  stop(): void {
    if (this.#period !== undefined) this.#period.hasChanged = true
    this.#period = undefined
    this.#keys = new Map()
    this.#confirmedAt = Number.NEGATIVE_INFINITY
  }

  /** Call this when everything that was read may have changed. */
  changedAll(): void {
    if (this.#period !== undefined) this.start()
  }

  changed(key: string): void {
    const watched = this.#keys.get(key)
    if (watched === undefined) return
    watched.hasChanged = true
    this.#keys.delete(key)
  }

  keyOf(key: string): Watched {
    let watched = this.#keys.get(key)
    if (watched !== undefined) return watched
    if (this.#keys.size >= MAX_KEYS) this.changedAll()
    watched = { hasChanged: false }
    this.#keys.set(key, watched)
    return watched
  }

  /**
   * Returns a time in epoch ms. All changes before this time have been reported. If the time is old, requests a newer
   * confirmation.
   */
  confirmedAt(): number {
    if (!isWithin(this.#confirmedAt, CONFIRM_AFTER_MS, this.#options.now())) void this.#confirm()
    return this.#confirmedAt
  }

  async #confirm(): Promise<void> {
    if (this.#isConfirming) return
    this.#isConfirming = true
    const period = this.#period
    const askedAt = this.#options.now()
    try {
      await this.#options.reported()
      if (this.#period === period) this.#confirmedAt = askedAt
    } catch {
      // The connection is lost. Nothing is confirmed until it is replaced.
    } finally {
      this.#isConfirming = false
    }
  }
}

/** A read stays in memory as long as its result, so it contains as little as possible. */
class Read implements WatchedRead {
  readonly #keys: WatchedKeys
  readonly #reader: SharedReader
  readonly #dependencies: Watched[]

  constructor(keys: WatchedKeys, reader: SharedReader, period: Watched) {
    this.#keys = keys
    this.#reader = reader
    this.#dependencies = [period]
  }

  get(key: string): Promise<string | null> {
    return this.#watching(key).get(key)
  }

  getBuffer(key: string): Promise<Buffer | null> {
    return this.#watching(key).getBuffer(key)
  }

  hgetall(key: string): Promise<Record<string, string>> {
    return this.#watching(key).hgetall(key)
  }

  #watching(key: string): SharedReader {
    this.#dependencies.push(this.#keys.keyOf(key))
    return this.#reader
  }

  unchangedAt(): number | undefined {
    for (const { hasChanged } of this.#dependencies) if (hasChanged) return undefined
    return this.#keys.confirmedAt()
  }
}
