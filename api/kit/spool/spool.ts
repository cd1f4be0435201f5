import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import type { CancelTimer, Runtime } from '../../../runtime/runtime.ts'
import type { SpoolFiles } from './files.ts'
import { adopt, type Folder, isProcessFolder, keepDamaged, keptFiles, makeOwn, nameAfter } from './folders.ts'
import type { FrameReader, SpooledRecord } from './frames.ts'
import { Journal, type Placed } from './journal.ts'
import type { Segment } from './segment.ts'

/** Interval at which failed sends and deletions are tried again. */
const RETRY_MS = 1_000
/**
 * How long the spool collects outcomes before it writes them to the file of marks. If the process is killed during this
 * time, the next process sends the records again.
 */
const MARK_EVERY_MS = 50
/** Maximum number of bytes from the spool that wait in the publisher. The rest of its capacity is for new records. */
const MAX_PUBLISHED_BYTES = 4 * 1_048_576
/** Number of counters for keys. If two keys share a counter, their records wait for each other. This does no harm. */
const KEY_COUNTERS = 65_536
/** Interval at which the process tries again to read unreadable folders. */
const RETRY_UNREADABLE_MS = 30_000
/** Number of bytes that a record needs in the file and in memory, in addition to its key and value. */
const RECORD_OVERHEAD_BYTES = 64

/** The outcome of giving a record to the publisher. */
export type Outcome =
  /** Every in-sync replica has the record. */
  | 'sent'
  /** Kafka rejects this record permanently. */
  | 'refused'
  /** The record may or may not have been written, so it must be sent again. */
  | 'failed'

/** Thrown by `Deliver` if the topic of the record does not exist. Records of other topics can still be sent. */
export class TopicAbsent extends Error {
  override readonly name = 'TopicAbsent'
}

/**
 * Gives a spooled record to the publisher. The publisher keeps the order of the calls. `settled` is called exactly
 * once, or never if the promise rejects.
 */
export type Deliver = (record: SpooledRecord, settled: (outcome: Outcome) => void) => Promise<void>

/**
 * Error for a record that the spool cannot store, because the spool is full or closed, or writing to the disk fails.
 */
class SpoolError extends Error {
  override readonly name = 'SpoolError'
}

export interface SpoolOptions {
  /** The parent folder, which contains one folder per process. */
  readonly folder: string
  readonly maxBytes: number
  readonly files: SpoolFiles
  readonly runtime: Runtime
  /** Default 30 s. */
  readonly retryUnreadableMs?: number
}

export interface AppendOptions {
  /** Whether the record must survive a loss of power. The record survives the end of the process either way. */
  readonly isDurable: boolean
  /** Whether the publisher already has the record. If so, the caller reports its outcome with `settle`. */
  readonly isPublished: boolean
}

/** A record that was given to the spool. */
export interface Spooled {
  /** Resolves when the record is stored. Rejects with SpoolError. */
  readonly stored: Promise<void>
  settle(outcome: Outcome): void
}

export interface SpoolState {
  readonly records: number
  readonly bytes: number
  /** Epoch ms of the first record in the oldest file with unsent records; undefined if all records are sent. */
  readonly oldest: number | undefined
  /** Number of records stored since the start of the process. */
  readonly spooled: number
  readonly sent: number
  /** Number of records that the spool could not store. */
  readonly refused: number
  /** Number of records that Kafka rejected permanently, or whose file was damaged while the process was running. */
  readonly dropped: number
  /** Number of damaged files that are kept for the operator. */
  readonly damagedFiles: number
  /** Names of the folders of dead processes that cannot be read. The records wait until the folders can be read. */
  readonly unreadableFolders: readonly string[]
}

/**
 * Stores records in files: records that Kafka does not accept in time, and records that are always spooled. Sends the
 * stored records in the order in which they were spooled. When the spool opens, it adopts the folders of dead processes
 * and sends their records first.
 */
export class Spool {
  readonly #options: SpoolOptions
  readonly #own: Folder
  readonly #adopted: Folder[] = []
  readonly #journal: Journal
  /** All segments, in sending order. */
  #segments: Segment[] = []
  /** Number of unsettled records per hash of topic and key. */
  readonly #held = new Uint32Array(KEY_COUNTERS)
  #deliver: Deliver | undefined
  #reader: { readonly segment: Segment; readonly frames: FrameReader } | undefined
  #publishedBytes = 0
  /** Number of records that were read from a file and given to the publisher, and that are not settled yet. */
  #delivering = 0
  #draining: Promise<void> | undefined
  /** Whether the current round of sending may miss records that have arrived since it began. */
  #hasNews = false
  /** Why sending last stopped. The reason is kept so that it is logged only once. */
  #trouble: string | undefined
  /**
   * Whether sending must begin again at the first file, for example because a record must be sent again. If so, the
   * spool first waits for the outcomes of all records that it has given to the publisher.
   */
  #isBehind = false
  /**
   * Topics that do not exist. Their records are skipped until the next round, so that records of other topics do not
   * wait for them.
   */
  readonly #absentTopics = new Set<string>()
  #isClosed = false
  readonly #closing = new AbortController()
  #tidying: Promise<void> | undefined
  #cancelTimer: CancelTimer | undefined
  readonly #counts = { spooled: 0, sent: 0, refused: 0, dropped: 0 }

  /** The folders that could not be read, with the reasons. */
  readonly #unreadable = new Map<string, string>()
  #damagedFiles = 0
  #adopting: Promise<void> | undefined
  #nextAdoption: number

  private constructor(options: SpoolOptions, own: Folder) {
    this.#options = options
    this.#own = own
    this.#nextAdoption = options.runtime.monotonic() + this.#retryUnreadableMs
    this.#journal = new Journal(own.path, options.files, (segment) => void this.#segments.push(segment))
  }

  /** Creates and locks a folder for this process, and adopts the folders of dead processes. */
  static async open(options: SpoolOptions): Promise<Spool> {
    const { files, folder, runtime } = options
    await files.makeFolder(folder)
    const names = (await files.list(folder)).toSorted()
    const own = await makeOwn(files, folder, nameAfter(names, runtime))
    const spool = new Spool(options, own)
    // Names of folders sort by age, so the oldest records are sent first.
    await spool.#adopt(names)
    await spool.#journal.open()
    spool.#wait()
    return spool
  }

  get #retryUnreadableMs(): number {
    return this.#options.retryUnreadableMs ?? RETRY_UNREADABLE_MS
  }

  /**
   * Adopts the folders of dead processes, in order. A folder that cannot be read is remembered, and tried again later.
   */
  async #adopt(names: readonly string[]): Promise<void> {
    const { files, folder, runtime } = this.#options
    const found: Segment[] = []
    for (const name of names) {
      try {
        const adopted = await adopt(this.#options, name, counterOf)
        this.#unreadable.delete(name)
        if (adopted === undefined) continue
        this.#adopted.push(adopted.folder)
        found.push(...adopted.segments)
        for (const counter of adopted.counters) this.#held[counter]++
      } catch (error) {
        const reason = (error as Error).message
        if (!isProcessFolder(name)) continue
        if (this.#unreadable.get(name) !== reason) runtime.log.error({ folder: name, reason }, 'spool_folder_unreadable')
        this.#unreadable.set(name, reason)
      }
    }
    this.#damagedFiles = await keptFiles(files, folder)
    this.#segments.unshift(...found)
  }

  async #adoptUnreadable(): Promise<void> {
    await this.#adopt([...this.#unreadable.keys()].toSorted())
    // Sending must begin again at the first file, because the adopted files come first.
    this.#isBehind = true
    this.#nextAdoption = this.#options.runtime.monotonic() + this.#retryUnreadableMs
  }

  /**
   * Returns whether records with this key are waiting. If so, later records must queue behind them. In rare cases, the
   * result is true although only records with a different key are waiting, because keys may share a counter.
   */
  holds(topic: string, key: Uint8Array): boolean {
    return this.#held[counterOf(topic, key)] > 0
  }

  /** Appends a record. Until the record is settled, later records with the same key must queue behind it. */
  append(record: SpooledRecord, { isDurable, isPublished }: AppendOptions): Spooled {
    const size = RECORD_OVERHEAD_BYTES + record.key.length + (record.value?.length ?? 0)
    const counter = counterOf(record.topic.name, record.key)
    let place: Placed | undefined
    let early: Outcome | undefined

    const settle = (outcome: Outcome): void => {
      if (place === undefined) early = outcome
      else this.#settle(place, counter, outcome)
    }
    const store = async (): Promise<void> => {
      if (this.#isClosed) throw new SpoolError('the spool is closed')
      if (this.bytes + size > this.#options.maxBytes)
        throw new SpoolError(`the spool is full: it contains ${this.bytes} of at most ${this.#options.maxBytes} bytes (SPOOL_MAX_BYTES)`)
      this.#held[counter]++
      try {
        await this.#journal.append(record, isDurable, (placed) => {
          place = placed
          if (isPublished) placed.segment.published.add(placed.offset)
          if (early !== undefined) this.#settle(placed, counter, early)
          // A record that the publisher already has need not be read from the file, unless sending it fails.
          else if (!isPublished) this.#drain()
        })
        this.#counts.spooled++
      } catch (error) {
        if (place === undefined) this.#held[counter]--
        throw new SpoolError(`the spool cannot be written: ${(error as Error).message}`, { cause: error })
      }
    }
    const stored = store()
    stored.catch(() => {
      this.#counts.refused++
    })
    return { stored, settle }
  }

  /** Starts sending the stored records. */
  start(deliver: Deliver): void {
    this.#deliver = deliver
    this.#drain()
  }

  /**
   * Yields the records that Kafka has neither acknowledged nor refused, in sending order. Records that are appended
   * during the call may be missing.
   */
  async *unsent(): AsyncGenerator<SpooledRecord> {
    for (const segment of [...this.#segments]) {
      const frames = segment.reader()
      const { end } = segment
      for (;;) {
        // A file is deleted once all of its records are sent, possibly during this loop.
        if (this.#isClosed || segment.unsettled === 0 || !this.#segments.includes(segment)) break
        const found = await frames.next(end).catch((error: Error) => {
          if (this.#segments.includes(segment)) throw error
        })
        if (found === undefined) break
        if (!segment.settled.has(found.offset)) yield found.record
      }
    }
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, this.#journal.queuedBytes)
  }

  get state(): SpoolState {
    const unsent = this.#segments.filter(({ unsettled }) => unsettled > 0)
    return {
      records: unsent.reduce((sum, { unsettled }) => sum + unsettled, 0),
      bytes: this.bytes,
      oldest: unsent[0]?.oldest,
      ...this.#counts,
      damagedFiles: this.#damagedFiles,
      unreadableFolders: [...this.#unreadable.keys()],
    }
  }

  /**
   * Stops sending, and closes the files. The next process sends the remaining records. Close the publisher before the
   * spool, so that no outcome is pending.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#closing.abort()
    this.#cancelTimer?.()
    await this.#adopting
    await this.#draining
    await this.#journal.close()
    await this.#tidy()
    await Promise.all(this.#segments.map((segment) => segment.close()))
    for (const folder of [...this.#adopted, this.#own]) {
      if (!this.#segments.some((segment) => segment.folder === folder.path)) await this.#options.files.remove(folder.path)
      folder.release()
    }
  }

  #settle({ segment, offset }: Placed, counter: number, outcome: Outcome): void {
    if (segment.settled.has(offset)) return
    if (outcome === 'failed') {
      segment.published.delete(offset)
      this.#isBehind = true
      return
    }
    this.#trouble = undefined
    if (outcome === 'sent') this.#counts.sent++
    else this.#counts.dropped++
    segment.settle(offset)
    this.#held[counter]--
    void this.#tidy()
  }

  #wait(): void {
    this.#cancelTimer = this.#options.runtime.setTimer(RETRY_MS, () => {
      if (this.#isClosed) return
      this.#wait()
      this.#journal.sealIfDone()
      const mustBeginAgain = this.#isBehind || this.#absentTopics.size > 0
      if (mustBeginAgain && this.#delivering === 0 && this.#draining === undefined) {
        this.#isBehind = false
        this.#absentTopics.clear()
        this.#reader = undefined
      }
      this.#drain()
      void this.#tidy()
      if (this.#unreadable.size === 0 || this.#options.runtime.monotonic() < this.#nextAdoption) return
      this.#adopting ??= this.#adoptUnreadable().finally(() => {
        this.#adopting = undefined
      })
    })
  }

  #drain(): void {
    this.#hasNews = true
    if (this.#draining !== undefined || this.#deliver === undefined) return
    this.#hasNews = false
    this.#draining = this.#sendAll(this.#deliver)
      .catch((error: Error) => {
        this.#isBehind = true
        this.#report(error)
      })
      .finally(() => {
        this.#draining = undefined
        if (this.#hasNews && !this.#isClosed) this.#drain()
      })
  }

  #report({ message }: Error): void {
    if (message !== this.#trouble) this.#options.runtime.log.warn({ reason: message }, 'spool_waits')
    this.#trouble = message
  }

  async #sendAll(deliver: Deliver): Promise<void> {
    while (!this.#isClosed && !this.#isBehind && this.#publishedBytes < MAX_PUBLISHED_BYTES) {
      const reader = this.#current()
      if (reader === undefined) return
      const { segment, frames } = reader
      const { end } = segment
      const found = await frames.next(end).catch((error: Error) => {
        if (this.#segments.includes(segment)) throw error
      })
      // If late acknowledgements have settled the remaining records of the file, the file has been deleted meanwhile.
      if (!this.#segments.includes(segment)) continue
      if (found === undefined) {
        if (segment.end > end) continue
        const isDamaged = frames.position < end || frames.skipped > segment.skipped
        if (isDamaged && !segment.isSealed) {
          await this.#journal.leave(segment)
          continue
        }
        if (isDamaged) await this.#giveUpUnreadable(segment, frames)
        if (!segment.isSealed) return
        this.#reader = this.#after(segment)
        if (this.#reader === undefined) return
        continue
      }
      const { offset, record } = found
      if (segment.settled.has(offset) || segment.published.has(offset)) continue
      if (this.#absentTopics.has(record.topic.name)) continue
      const size = record.key.length + (record.value?.length ?? 0)
      const done = () => {
        this.#publishedBytes -= size
        this.#delivering--
      }
      segment.published.add(offset)
      this.#publishedBytes += size
      this.#delivering++
      try {
        await deliver(record, (outcome) => {
          done()
          this.#settle({ segment, offset }, counterOf(record.topic.name, record.key), outcome)
          this.#drain()
        })
      } catch (error) {
        done()
        segment.published.delete(offset)
        if (!(error instanceof TopicAbsent)) throw error
        this.#absentTopics.add(record.topic.name)
        this.#report(error)
      }
    }
  }

  /**
   * Gives up the unreadable records of a complete segment, and keeps a copy of the file for the operator. The keys of
   * these records are unknown. Later records with the same keys are therefore still spooled first, which does no harm.
   */
  async #giveUpUnreadable(segment: Segment, frames: FrameReader): Promise<void> {
    // The publisher has all records that can be read, unless some are skipped or must be sent again.
    if (this.#isBehind || this.#absentTopics.size > 0) return
    const lost = segment.unsettled - segment.published.size
    if (lost === 0) return
    await keepDamaged(this.#options, segment, { bytes: frames.skipped + segment.end - frames.position, lost })
    this.#damagedFiles = await keptFiles(this.#options.files, this.#options.folder)
    segment.unsettled -= lost
    this.#counts.dropped += lost
    void this.#tidy()
  }

  #current() {
    if (this.#reader === undefined) {
      const [segment] = this.#segments
      this.#reader = segment && { segment, frames: segment.reader() }
    }
    return this.#reader
  }

  #after(segment: Segment) {
    const next = this.#segments[this.#segments.indexOf(segment) + 1] as Segment | undefined
    return next && { segment: next, frames: next.reader() }
  }

  /** Writes the marks of settled records, and deletes files whose records are all settled. */
  #tidy(): Promise<void> {
    this.#tidying ??= this.#tidyAll()
      .catch((error: Error) => this.#options.runtime.log.warn({ reason: error.message }, 'spool_not_tidied'))
      .finally(() => {
        this.#tidying = undefined
      })
    return this.#tidying
  }

  async #tidyAll(): Promise<void> {
    // All outcomes that arrive during this pause share one write.
    if (!this.#isClosed) await this.#options.runtime.sleep(MARK_EVERY_MS, this.#closing.signal)
    for (;;) {
      const dirty = this.#segments.find((segment) => segment.isDone || segment.needsMarks)
      if (dirty === undefined) return
      if (dirty.isDone) await this.#remove(dirty)
      else await dirty.mark()
    }
  }

  async #remove(segment: Segment): Promise<void> {
    if (this.#reader?.segment === segment) this.#reader = this.#after(segment)
    this.#segments = this.#segments.filter((one) => one !== segment)
    await segment.remove()
    const at = this.#adopted.findIndex(({ path }) => path === segment.folder)
    if (at < 0 || this.#segments.some(({ folder }) => folder === segment.folder)) return
    const [folder] = this.#adopted.splice(at, 1)
    await this.#options.files.remove(folder.path)
    folder.release()
  }
}

function counterOf(topic: string, key: Uint8Array): number {
  return (crc32c(key) ^ crc32c(Buffer.from(topic))) & (KEY_COUNTERS - 1)
}
