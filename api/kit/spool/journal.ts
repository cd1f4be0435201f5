import type { SpoolFiles } from './files.ts'
import { recordFrame, type SpooledRecord, type SpooledTopic, topicFrame } from './frames.ts'
import { Segment } from './segment.ts'

/**
 * Size at which a segment is full. A full segment is deleted once all of its records are sent, so small segments free
 * disk space early.
 */
const SEGMENT_BYTES = 4 * 1_048_576
/**
 * Number of bytes after which a write takes no further records. This limits the size of the buffer into which the
 * records are copied.
 */
const MAX_WRITE_BYTES = 1_048_576

export interface Placed {
  readonly segment: Segment
  readonly offset: number
}

interface Waiting {
  readonly topic: number
  readonly record: SpooledRecord
  readonly frame: Buffer
  readonly isDurable: boolean
  /** Called when the record is in the file, before the file is synced. */
  onPlaced(placed: Placed): void
  resolve(): void
  reject(error: Error): void
}

/**
 * Appends records to the segments of one folder. Records that arrive during a write share the next write. Records that
 * arrive during an fdatasync share the next fdatasync.
 */
export class Journal {
  readonly #folder: string
  readonly #files: SpoolFiles
  readonly #onSegment: (segment: Segment) => void
  /** The numbers by which records refer to topics, keyed by the topic's name and schema. */
  readonly #topics = new Map<string, number>()
  /**
   * The same numbers, keyed by topic object. Publishers use one object for all records of a topic. Looking up this
   * object is cheap, whereas a key made of name and schema would copy several KB for each record.
   */
  readonly #known = new WeakMap<SpooledTopic, number>()
  #queue: Waiting[] = []
  #unsynced: { readonly segment: Segment; readonly waiting: Waiting }[] = []
  #active: Segment | undefined
  #segments = 0
  #isSyncing = false
  /**
   * Segments that are damaged or for which a sync has failed. Any page of such a segment may be missing on disk, and
   * the next sync may not report the loss.
   */
  readonly #broken = new WeakSet<Segment>()
  #writing: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  /** Number of bytes that were accepted but are not in a file yet. */
  queuedBytes = 0

  /**
   * Creates a journal without segments.
   * @param onSegment called with each new segment, in the order of creation
   */
  constructor(folder: string, files: SpoolFiles, onSegment: (segment: Segment) => void) {
    this.#folder = folder
    this.#files = files
    this.#onSegment = onSegment
  }

  /** Creates the first segment in advance, so that the first record need not wait for it. */
  async open(): Promise<void> {
    await this.#roll()
  }

  /**
   * Resolves when the record is in the file, or on disk if the record must be durable. Rejects if writing the record or
   * syncing the file fails.
   */
  append(record: SpooledRecord, isDurable: boolean, onPlaced: (placed: Placed) => void): Promise<void> {
    const topic = this.#known.get(record.topic) ?? this.#numberOf(record.topic)
    const frame = recordFrame(topic, record)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#queue.push({ topic, record, frame, isDurable, onPlaced, resolve, reject })
    this.queuedBytes += frame.length
    this.#write()
    return promise
  }

  /**
   * Begins a new segment if all records of the current segment are settled, so that the current segment can be deleted.
   */
  sealIfDone(): void {
    const active = this.#active
    if (active === undefined || active.oldest === undefined || active.unsettled > 0 || this.#queue.length > 0) return
    if (this.#writing !== undefined) return
    this.#writing = this.#roll()
      .catch(() => undefined)
      .finally(() => this.#written())
  }

  /** Stops writing to a segment whose file is damaged. If it is the current segment, begins a new segment. */
  async leave(segment: Segment): Promise<void> {
    this.#broken.add(segment)
    while (this.#writing !== undefined) await this.#writing
    if (this.#active !== segment) return
    const rolled = this.#roll()
    this.#writing = rolled.catch(() => undefined).finally(() => this.#written())
    await rolled
  }

  #numberOf(topic: SpooledTopic): number {
    const key = `${topic.name} ${topic.schema}`
    const number = this.#topics.get(key) ?? this.#topics.size
    this.#topics.set(key, number)
    this.#known.set(topic, number)
    return number
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => this.#written())
  }

  #written(): void {
    this.#writing = undefined
    if (this.#queue.length > 0) this.#write()
  }

  async #writeAll(): Promise<void> {
    // This pause lets records that are appended together share a write.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      let segment: Segment
      try {
        if (this.#active === undefined || this.#active.end >= SEGMENT_BYTES || this.#broken.has(this.#active)) await this.#roll()
        segment = this.#active as unknown as Segment
      } catch (error) {
        this.#fail(this.#queue.splice(0), error as Error)
        return
      }
      await this.#writeBatch(segment)
    }
  }

  async #writeBatch(segment: Segment): Promise<void> {
    const batch: { readonly waiting: Waiting; readonly offset: number }[] = []
    const frames: Buffer[] = []
    const declared: number[] = []
    let end = segment.end
    while (this.#queue.length > batch.length && end - segment.end < MAX_WRITE_BYTES) {
      const waiting = this.#queue[batch.length]
      if (!segment.declared.has(waiting.topic) && !declared.includes(waiting.topic)) {
        const declaration = topicFrame(waiting.topic, waiting.record.topic)
        declared.push(waiting.topic)
        frames.push(declaration)
        end += declaration.length
      }
      batch.push({ waiting, offset: end })
      frames.push(waiting.frame)
      end += waiting.frame.length
    }
    this.#queue = this.#queue.slice(batch.length)
    try {
      await segment.file.write(Buffer.concat(frames), segment.end)
    } catch (error) {
      await this.#abandon(segment)
      this.#fail(
        batch.map(({ waiting }) => waiting),
        error as Error,
      )
      return
    }
    segment.end = end
    for (const topic of declared) segment.declared.add(topic)
    for (const { waiting, offset } of batch) {
      this.queuedBytes -= waiting.frame.length
      segment.oldest ??= waiting.record.timestamp
      segment.unsettled++
      waiting.onPlaced({ segment, offset })
      if (waiting.isDurable) this.#unsynced.push({ segment, waiting })
      else waiting.resolve()
    }
    if (this.#unsynced.length > 0 && !this.#isSyncing) this.#syncing = this.#sync()
  }

  async #sync(): Promise<void> {
    this.#isSyncing = true
    while (this.#unsynced.length > 0) {
      const batch = this.#unsynced
      this.#unsynced = []
      for (const [segment, written] of Map.groupBy(batch, (one) => one.segment)) {
        try {
          if (this.#broken.has(segment)) throw new Error('the file is damaged, or an earlier sync of it has failed')
          await segment.file.datasync()
          for (const { waiting } of written) waiting.resolve()
        } catch (error) {
          this.#broken.add(segment)
          for (const { waiting } of written) waiting.reject(error as Error)
        }
      }
    }
    this.#isSyncing = false
  }

  /** Cuts off the remains of a failed write, and continues in a new segment. */
  async #abandon(segment: Segment): Promise<void> {
    await segment.file.truncate(segment.end).catch(() => undefined)
    this.#seal()
  }

  #seal(): void {
    if (this.#active !== undefined) this.#active.isSealed = true
    this.#active = undefined
  }

  async #roll(): Promise<void> {
    const next = await Segment.create(this.#files, this.#folder, ++this.#segments)
    this.#seal()
    this.#active = next
    this.#onSegment(next)
  }

  #fail(refused: readonly Waiting[], error: Error): void {
    for (const waiting of refused) {
      this.queuedBytes -= waiting.frame.length
      waiting.reject(error)
    }
  }

  /** Waits until every appended record is written or has failed, and seals the last segment. */
  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    await this.#syncing
    this.#seal()
  }
}
