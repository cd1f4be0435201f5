import type { PartitionData, RecordChunk } from '../../../kafka/transport.ts'
import { type Codec, UnknownSchemaError } from '../../../schemas/codec.ts'
import { type TimeMarker, timeMarkerAt } from '../time/time-marker.ts'
import type { OnError } from '../topology/api.ts'
import type { StreamDeclaration } from '../topology/declaration.ts'
import { type FailurePolicies, type Fault, type FaultCode, placeOf, type RecordPlace, reasonOf } from './record-failure.ts'

/** Stands in for the value of a record that is not processed. `faults` contains the reason. */
export const FAULTY = Symbol('faulty')
/** Stands in for the value of a time marker. The marker itself is in `markers`. */
export const MARKER = Symbol('marker')
/** Stands in for the value of a record that has no value and must be ignored. */
export const TOMBSTONE = Symbol('tombstone')

/**
 * While chunks are waiting, the queue removes processed chunks only when it contains this many of them. It does not
 * remove them one by one, because each removal moves all waiting chunks. The number is small compared with the usual
 * number of waiting chunks, so that processed chunks take little extra memory.
 */
const MAX_FINISHED_CHUNKS = 16

/** Returns the policies of a source. By default bad input becomes a dead letter, and bugs stop the worker. */
function policiesOf({ decode = 'dead-letter', reject = 'dead-letter', process = 'fail', produce = 'fail' }: OnError): FailurePolicies {
  return { decode, reject, process, produce }
}

function decodeFault(code: FaultCode, message: string): Fault {
  return { stage: 'decode', code, message, processor: '' }
}

export interface RecordQueueOptions {
  /** Index of the source among the sources of its task. */
  readonly source: number
  readonly partition: number
  readonly keyCodec: Codec<unknown>
  readonly valueCodec: Codec<unknown>
  readonly seesMarkers: boolean
  /** Returns true if the registry does not have this schema id. */
  readonly isMissing: (schemaId: number) => boolean
  /** For each record before this offset, the changed rows must be checked; -1 if no check is needed. */
  readonly checksBefore: number
  /** The faults of the records that failed earlier and must be skipped, keyed by offset. */
  readonly failed: ReadonlyMap<number, Fault>
}

/**
 * The queued records of one source partition. The queue decodes one slice at a time into reused arrays. `slot` is the
 * current index in the slice; `chunk` and `row` point to the same record in the queue.
 */
export class RecordQueue {
  readonly stream: StreamDeclaration
  readonly topic: string
  readonly source: number
  readonly partition: number
  readonly policies: FailurePolicies
  /** The decoded slice. The entries from `slot` to `slots` are not processed yet. */
  readonly values: unknown[] = []
  readonly keys: unknown[] = []
  readonly timestamps: number[] = []
  faults = new Map<number, Fault>()
  markers = new Map<number, TimeMarker>()
  slot = 0
  slots = 0
  /** The chunk that contains the record at `slot`. */
  chunk: RecordChunk | undefined
  row = 0
  /** Next offset to process. */
  position = -1
  /**
   * The latest leader epoch in which the log is known to contain all records before `position`; undefined when no such
   * epoch is known.
   */
  leaderEpoch: number | undefined
  highWatermark = 0
  /**
   * The offset up to which records can be read: the beginning of the oldest open transaction, or the high watermark if
   * no transaction is open.
   */
  readableEnd = 0
  /** Time of the last fetch of the log, epoch ms; undefined before the first fetch. */
  fetchedAt: number | undefined
  queuedRecords = 0
  queuedBytes = 0
  /** The id of the schema that must be loaded before decoding can continue; otherwise undefined. */
  waitsForSchema: number | undefined

  readonly #options: RecordQueueOptions
  readonly #needsKey: boolean
  readonly #tombstone: typeof TOMBSTONE | typeof FAULTY | null
  #chunks: RecordChunk[] = []
  /** The offset after each chunk, including any skipped offsets that follow its last record. */
  #after: number[] = []
  #head = 0

  constructor(stream: StreamDeclaration, options: RecordQueueOptions) {
    this.stream = stream
    this.topic = stream.topic.name
    this.source = options.source
    this.partition = options.partition
    this.#options = options
    this.policies = policiesOf(stream.options.onError ?? {})
    const { keys = 'required', tombstones = 'bad-record' } = stream.options
    this.#needsKey = keys === 'required'
    this.#tombstone = tombstones === 'deliver' ? null : tombstones === 'drop' ? TOMBSTONE : FAULTY
  }

  /** Adds the data that a poll returned. */
  push(data: PartitionData): void {
    this.highWatermark = data.highWatermark
    this.readableEnd = data.lastStableOffset
    this.fetchedAt = data.fetchedAt
    this.leaderEpoch = data.leaderEpoch
    for (const chunk of data.chunks) {
      if (chunk.count === 0) continue
      this.#chunks.push(chunk)
      this.#after.push(chunk.offsets[chunk.count - 1] + 1)
      this.queuedRecords += chunk.count
      this.queuedBytes += chunkBytes(chunk)
    }
    if (this.#head === this.#chunks.length) this.position = data.nextOffset
    else this.#after[this.#after.length - 1] = data.nextOffset
    this.#settle()
  }

  /**
   * Decodes the next slice. It ends after `limit` records, or after the record whose value brings the total size of the
   * values to `bytes`. It also ends before a record whose schema is not loaded yet (`waitsForSchema`). Must be called
   * only after every record of the previous slice has been processed.
   * @returns the number of decoded records
   */
  decode(limit: number, bytes = Infinity): number {
    if (this.faults.size > 0) this.faults = new Map()
    if (this.markers.size > 0) this.markers = new Map()
    this.waitsForSchema = undefined
    this.slot = 0
    let filled = 0
    let bytesLeft = bytes
    for (let index = this.#head, row = this.row; index < this.#chunks.length && filled < limit; index++, row = 0) {
      const chunk = this.#chunks[index]
      const most = Math.min(chunk.count, row + limit - filled)
      let end = row
      while (end < most && (bytesLeft > 0 || filled + end === row)) bytesLeft -= valueBytes(chunk, end++)
      const stopped = this.#decodeRows(chunk, row, end, filled)
      filled += stopped - row
      if (stopped < most) break
    }
    this.slots = filled
    if (this.#options.failed.size > 0) this.#markFailed()
    return filled
  }

  /** Returns the size of the value at `slot`. */
  valueBytes(): number {
    return valueBytes(this.chunk as RecordChunk, this.row)
  }

  /** Returns the topic, partition and offset of the record in a slot of the decoded slice. */
  placeAt(slot: number): RecordPlace {
    let row = this.row + slot - this.slot
    let index = this.#head
    while (row >= this.#chunks[index].count) row -= this.#chunks[index++].count
    return placeOf(this.#chunks[index], row)
  }

  /** Replaces the values of records that failed earlier, so that no processor receives them. */
  #markFailed(): void {
    let index = this.#head
    let row = this.row
    for (let slot = 0; slot < this.slots; slot++, row++) {
      if (row === this.#chunks[index].count) {
        index++
        row = 0
      }
      const fault = this.#options.failed.get(this.#chunks[index].offsets[row])
      if (fault === undefined || typeof this.values[slot] === 'symbol') continue
      this.values[slot] = FAULTY
      this.faults.set(slot, fault)
    }
  }

  /** True while the rows that the next record changes must be checked. */
  get checksNext(): boolean {
    return this.position < this.#options.checksBefore
  }

  /** Moves past the record at `slot`, which has been processed. */
  advance(): void {
    const chunk = this.chunk as RecordChunk
    this.position = chunk.offsets[this.row] + 1
    this.values[this.slot] = undefined
    this.slot++
    this.row++
    this.queuedRecords--
    if (this.row === chunk.count) this.#finishChunk(chunk)
  }

  /** Decodes rows of a chunk into the slice. @returns the first row that was not decoded */
  #decodeRows(chunk: RecordChunk, from: number, to: number, slot: number): number {
    const shift = slot - from
    let row = from
    while (row < to) {
      // One try block covers a run of valid records, because a try block per record would cost more.
      try {
        for (; row < to; row++) this.#decodeRow(chunk, row, row + shift)
      } catch (error) {
        const fault = this.#faultOf(error, chunk, row)
        if (fault === undefined) return row
        this.faults.set(row + shift, fault)
        this.values[row + shift] = FAULTY
        row++
      }
    }
    return row
  }

  #decodeRow(chunk: RecordChunk, row: number, slot: number): void {
    const { buffer } = chunk
    const { keyCodec, valueCodec, seesMarkers } = this.#options
    if (chunk.unreadable !== undefined) {
      this.keys[slot] = undefined
      this.timestamps[slot] = chunk.timestamps[row]
      this.values[slot] = FAULTY
      this.faults.set(slot, decodeFault('unreadable_batch', chunk.unreadable))
      return
    }
    if (seesMarkers) {
      const marker = timeMarkerAt(chunk, row)
      if (marker !== undefined) {
        this.markers.set(slot, marker)
        this.values[slot] = MARKER
        return
      }
    }
    const keyStart = chunk.keyStart[row]
    this.keys[slot] = undefined
    this.timestamps[slot] = chunk.timestamps[row]
    if (keyStart >= 0) this.keys[slot] = keyCodec.decode(buffer, keyStart, chunk.keyEnd[row])
    else if (this.#needsKey) {
      this.values[slot] = FAULTY
      const message = "the record has no key: set one in its producer, or read the topic with keys: 'optional'"
      this.faults.set(slot, decodeFault('no_key', message))
      return
    }
    const valueStart = chunk.valueStart[row]
    if (valueStart >= 0) {
      this.values[slot] = valueCodec.decode(buffer, valueStart, chunk.valueEnd[row])
      return
    }
    this.values[slot] = this.#tombstone
    if (this.#tombstone === FAULTY)
      this.faults.set(slot, decodeFault('no_value', "the record has no value: to accept it, read the topic with tombstones: 'deliver'"))
  }

  /**
   * Returns why the record is invalid. If its schema is not loaded yet, sets `waitsForSchema` and returns undefined.
   */
  #faultOf(error: unknown, chunk: RecordChunk, row: number): Fault | undefined {
    if (error instanceof UnknownSchemaError) {
      if (this.#options.isMissing(error.schemaId))
        return decodeFault('unknown_schema', `the schema registry has no Avro schema with id ${error.schemaId}`)
      this.waitsForSchema = error.schemaId
      return undefined
    }
    return decodeFault(this.#keyDecodes(chunk, row) ? 'undecodable_value' : 'undecodable_key', reasonOf(error))
  }

  #keyDecodes(chunk: RecordChunk, row: number): boolean {
    if (chunk.keyStart[row] < 0) return true
    try {
      this.#options.keyCodec.decode(chunk.buffer, chunk.keyStart[row], chunk.keyEnd[row])
      return true
    } catch {
      return false
    }
  }

  #finishChunk(chunk: RecordChunk): void {
    this.position = this.#after[this.#head]
    this.queuedBytes -= chunkBytes(chunk)
    this.#head++
    this.row = 0
    // Finished chunks are removed even while more chunks are waiting: each chunk keeps a whole fetch response in
    // memory, and during a backlog the queue is never empty.
    if (this.#head === this.#chunks.length || this.#head >= MAX_FINISHED_CHUNKS) {
      this.#chunks.splice(0, this.#head)
      this.#after.splice(0, this.#head)
      this.#head = 0
    }
    this.#settle()
  }

  #settle(): void {
    this.chunk = this.#chunks[this.#head]
  }
}

function valueBytes({ valueStart, valueEnd }: RecordChunk, row: number): number {
  return valueStart[row] < 0 ? 0 : valueEnd[row] - valueStart[row]
}

/**
 * Returns the number of bytes from the beginning of the first key or value of a chunk to the end of the last one. The
 * size of the buffer would be too large, because several chunks of one fetch may share a buffer. Time markers have
 * neither key nor value, and may be the first or last records of a chunk.
 */
function chunkBytes({ count, keyStart, keyEnd, valueStart, valueEnd }: RecordChunk): number {
  let first = 0
  while (first < count && keyStart[first] < 0 && valueStart[first] < 0) first++
  let last = count - 1
  while (last > first && keyStart[last] < 0 && valueStart[last] < 0) last--
  if (first === count) return 0
  return Math.max(keyEnd[last], valueEnd[last]) - (keyStart[first] >= 0 ? keyStart[first] : valueStart[first])
}
