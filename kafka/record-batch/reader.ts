import { COMPRESSIONS, type RecordChunk, TransportError, type UnreadableBatches } from '../transport.ts'
import { type BatchHeader, batchAt, corrupt, isControl, verifyChecksum } from './batches.ts'
import { ChunkBuilder, columnBytes, rowsFrom, standIn } from './chunk.ts'
import type { AbortedTransaction } from './committed.ts'
import { CommittedFilter } from './committed.ts'
import { decompress } from './compression.ts'
import { COMPRESSION_MASK, RECORDS_AT } from './format.ts'

/** The record bytes of one partition in one fetch response. */
export interface FetchedRecords {
  readonly topic: string
  readonly partition: number
  readonly records: Buffer
  /** The requested offset. Earlier records of the first batch are skipped. */
  readonly from: number
  /** The aborted transactions in the response; null for read_uncommitted. */
  readonly aborted: readonly AbortedTransaction[] | null
  readonly verifyChecksums: boolean
  /** How to treat a batch that cannot be unpacked. Default `fail`. */
  readonly unreadableBatches?: UnreadableBatches
}

/** Decoded records of one or more batches. */
interface Decoded {
  readonly chunk: RecordChunk
  /** Approximate size of the unpacked records. */
  readonly bytes: number
}

/**
 * The smallest limit that `next` applies to a portion, in bytes. With smaller portions, reading a response would take
 * too many calls.
 */
const LEAST_BYTES = 32_768
/**
 * Maximum size of one compressed batch after unpacking, including the columns that describe its records. Brokers limit
 * only the packed size, and a packed megabyte can unpack to gigabytes. Real batches are far smaller: by default,
 * producers write at most about 1 MiB, unpacked.
 */
const MAX_UNPACKED_BYTES = 64 * 1_048_576
const TOO_LARGE = 'BATCH_TOO_LARGE'
/**
 * Minimum size of a record. Its length, attributes, two deltas, two lengths and number of headers take at least one
 * byte each.
 */
const MIN_RECORD_BYTES = 7

/**
 * Decodes all complete batches into chunks of visible records.
 * @throws TransportError with code CORRUPT_BATCH or BATCH_TOO_LARGE. In that case, none of the bytes may be used
 */
export function readChunks(fetched: FetchedRecords): RecordChunk[] {
  const reader = new ChunkReader(fetched)
  const chunks: RecordChunk[] = []
  for (let next = reader.next(Infinity); next !== undefined; next = reader.next(Infinity)) chunks.push(next.chunk)
  return chunks
}

/**
 * Decodes the complete batches of a response in portions. The constructor and `next` may throw a TransportError with
 * code CORRUPT_BATCH or BATCH_TOO_LARGE; after an error, the reader must not be used again.
 */
export class ChunkReader {
  readonly #fetched: FetchedRecords
  readonly #filter: CommittedFilter | undefined
  /** The next visible batch; undefined when there is none. */
  #batch: BatchHeader | undefined
  /** Position in the record bytes after the last batch whose header was read. */
  #at = 0
  /** The offset after the last batch that was decoded or skipped. */
  #passed: number
  /** Decoded records that no call has returned yet. */
  #rest: Decoded | undefined

  constructor(fetched: FetchedRecords) {
    this.#fetched = fetched
    this.#filter = fetched.aborted === null ? undefined : new CommittedFilter(fetched.aborted)
    this.#passed = fetched.from
    this.#advance()
  }

  /** True when no record is left. */
  get done(): boolean {
    return this.#rest === undefined && this.#batch === undefined
  }

  /**
   * The offset at which the next portion begins. When no record is left, it is the offset after the last complete
   * batch.
   */
  get nextOffset(): number {
    return this.#rest === undefined ? this.#passed : this.#rest.chunk.offsets[0]
  }

  /**
   * Decodes the next portion.
   * @param maxBytes approximate maximum of unpacked bytes; a limit below 32 KiB counts as 32 KiB
   * @returns the unpacked records; undefined when no record is left
   */
  next(maxBytes: number): Decoded | undefined {
    const wanted = Math.max(maxBytes, LEAST_BYTES)
    const decoded = this.#rest ?? this.#decode(wanted)
    this.#rest = undefined
    if (decoded === undefined) return undefined
    const { chunk, bytes } = decoded
    const rows = Math.ceil((chunk.count * wanted) / bytes)
    if (bytes <= wanted + LEAST_BYTES || rows >= chunk.count) return decoded
    const taken = (bytes * rows) / chunk.count
    this.#rest = { chunk: rowsFrom(chunk, rows), bytes: bytes - taken }
    return { chunk: { ...chunk, count: rows }, bytes: taken }
  }

  /** Decodes one portion. Adjacent uncompressed batches share a chunk; each compressed batch gets a separate chunk. */
  #decode(maxBytes: number): Decoded | undefined {
    for (;;) {
      const batch = this.#batch
      if (batch === undefined) return undefined
      const codec = codecOf(batch)
      const decoded = codec === 0 ? this.#plain(maxBytes) : this.#packed(batch, codec)
      if (decoded !== undefined) return decoded
    }
  }

  #plain(maxBytes: number): Decoded | undefined {
    const { topic, partition, records, from } = this.#fetched
    const batches: BatchHeader[] = []
    let bytes = 0
    let count = 0
    for (let batch = this.#batch; batch !== undefined && codecOf(batch) === 0 && bytes < maxBytes; batch = this.#batch) {
      checkCount(batch, batch.end - batch.start - RECORDS_AT)
      batches.push(batch)
      bytes += batch.end - batch.start
      count += batch.recordCount
      this.#pass(batch)
    }
    const builder = new ChunkBuilder(topic, partition, records, count)
    for (const batch of batches) builder.addPlain(batch, from)
    return finished(builder, bytes)
  }

  #packed(batch: BatchHeader, codec: number): Decoded | undefined {
    const { topic, partition, records, from, unreadableBatches } = this.#fetched
    let decoded: Decoded | undefined
    try {
      decoded = this.#unpacked(batch, codec)
    } catch (error) {
      if (unreadableBatches !== 'stand-in' || !(error instanceof TransportError)) throw error
      // Without the checksum, it is unknown whether the producer wrote these bytes or they were damaged in transit.
      if (error.code !== TOO_LARGE && !this.#fetched.verifyChecksums) throw error
      decoded = { chunk: standIn(topic, partition, records, batch, from, error.message), bytes: LEAST_BYTES }
    }
    this.#pass(batch)
    return decoded
  }

  /**
   * Unpacks a compressed batch.
   * @throws TransportError with code CORRUPT_BATCH or BATCH_TOO_LARGE
   */
  #unpacked(batch: BatchHeader, codec: number): Decoded | undefined {
    const { topic, partition, records, from } = this.#fetched
    const packed = records.subarray(batch.start + RECORDS_AT, batch.end)
    const room = MAX_UNPACKED_BYTES - columnBytes(batch.recordCount)
    const unpacked = room > 0 ? decompress(codec, packed, room) : undefined
    if (unpacked === undefined) throw tooLarge(batch, codec, packed.length)
    checkCount(batch, unpacked.length)
    const builder = new ChunkBuilder(topic, partition, unpacked, batch.recordCount)
    builder.add(records, batch, 0, unpacked.length, from)
    return finished(builder, unpacked.length)
  }

  #pass(batch: BatchHeader): void {
    this.#passed = Math.max(this.#passed, batch.lastOffset + 1)
    this.#advance()
  }

  /** Moves to the next visible batch and skips all batches before it. */
  #advance(): void {
    const { records, from, verifyChecksums } = this.#fetched
    for (let batch = batchAt(records, this.#at); batch !== undefined; batch = batchAt(records, batch.end)) {
      if (verifyChecksums) verifyChecksum(records, batch)
      this.#at = batch.end
      const visible = this.#filter === undefined ? !isControl(batch) : this.#filter.accepts(records, batch)
      if (visible && batch.lastOffset >= from && batch.recordCount > 0) {
        this.#batch = batch
        return
      }
      this.#passed = Math.max(this.#passed, batch.lastOffset + 1)
    }
    this.#batch = undefined
  }
}

function codecOf(batch: BatchHeader): number {
  return batch.attributes & COMPRESSION_MASK
}

/** Rejects an impossible record count in the header before columns are allocated for it. */
function checkCount(batch: BatchHeader, bytes: number): void {
  if (batch.recordCount * MIN_RECORD_BYTES > bytes)
    throw corrupt(batch.baseOffset, `declares ${batch.recordCount} records in ${bytes} bytes`)
}

function tooLarge(batch: BatchHeader, codec: number, packedBytes: number): TransportError {
  const { baseOffset, lastOffset, recordCount } = batch
  const message =
    `the record batch at offset ${baseOffset} (to offset ${lastOffset}, ${recordCount} records in ${packedBytes} bytes of ` +
    `${COMPRESSIONS[codec]}) unpacks to more than ${MAX_UNPACKED_BYTES} bytes`
  return new TransportError(TOO_LARGE, message, { fatal: true })
}

function finished(builder: ChunkBuilder, bytes: number): Decoded | undefined {
  const chunk = builder.finish()
  return chunk && { chunk, bytes }
}
