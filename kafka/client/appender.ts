import { DEFAULT_MAX_BATCH_BYTES } from '../../schemas/topic.ts'
import { RECORDS_AT } from '../record-batch/format.ts'
import { BatchWriter, NO_STAMP, recordBytesBound } from '../record-batch/writer.ts'
import { type Compression, partitionKey, type RecordAppender, type RecordFields, type RecordHeader, recordTooLarge } from '../transport.ts'

/**
 * Maximum size of a batch with more than one record. By default, brokers accept 1 MiB (`max.message.bytes`). The
 * difference is a margin for data that grows when it is compressed. A record above this limit gets a batch to itself,
 * because its topic may accept more.
 */
export const BATCH_LIMIT_BYTES = 900 * 1_024
/**
 * Share of a topic's limit that a batch may fill if this limit is below the default. It leaves about the same margin as
 * `BATCH_LIMIT_BYTES`.
 */
const SMALL_LIMIT_SHARE = 7 / 8
/**
 * Size at which `flushFull` sends a batch that is not full yet, so that the broker works while the caller processes
 * further records.
 */
const EARLY_BATCH_BYTES = 256 * 1_024
/** Maximum total size of the free buffers that the pool keeps for reuse. */
const POOL_LIMIT_BYTES = 32 * 1_048_576
/** Each time this many buffers have been returned, the pool drops the buffers that were not needed in the meantime. */
const GIVEN_BEFORE_DROP = 256
/** Number of different sequence numbers. They are unsigned 31-bit integers and wrap around to 0. */
export const SEQUENCE_SPAN = 2 ** 31

/** The properties of the producer that are written into the header of each batch. */
export interface ProducerIdentity {
  readonly producerId: number
  readonly producerEpoch: number
  readonly transactional: boolean
  readonly codec: Compression
}

/** A batch that has been sent at least once. Every retry must send the same bytes with the same sequence number. */
export interface SentBatch {
  readonly writer: BatchWriter
  readonly bytes: Buffer
  readonly count: number
}

/**
 * A pool of buffers for batches. The buffers of acknowledged and dropped batches return to it, so that new batches can
 * use them.
 */
export interface BufferPool {
  take(): Buffer | undefined
  give(buffer: Buffer): void
}

export function bufferPool(): BufferPool {
  const free: Buffer[] = []
  let bytes = 0
  /** The lowest number of free buffers since the pool last dropped buffers: this many buffers were not needed. */
  let unneeded = 0
  let given = 0

  function take(): Buffer | undefined {
    const buffer = free.pop()
    if (buffer !== undefined) bytes -= buffer.length
    unneeded = Math.min(unneeded, free.length)
    return buffer
  }

  function give(buffer: Buffer): void {
    if (bytes + buffer.length <= POOL_LIMIT_BYTES) {
      bytes += buffer.length
      free.push(buffer)
    }
    if (++given === GIVEN_BEFORE_DROP) dropUnneeded()
  }

  /**
   * Drops the buffers at the front. They have not been used since the last drop, because the pool always takes the last
   * buffer.
   */
  function dropUnneeded(): void {
    for (const buffer of free.splice(0, unneeded)) bytes -= buffer.length
    unneeded = free.length
    given = 0
  }

  return { take, give }
}

/** State that the appenders of one producer share. */
export interface TransactionPhase {
  /**
   * True while the open transaction is being committed. Records appended in the meantime are held back for the next
   * transaction.
   */
  committing: boolean
}

export interface AppenderOptions {
  readonly pool: BufferPool
  readonly phase: TransactionPhase
  readonly codec: Compression
  /** Maximum size of a batch in the topic; undefined when it is unknown. */
  readonly maxBatchBytes: number | undefined
}

/**
 * Holds the records of one partition, in order, from `append` to their acknowledgement. At most one batch is in flight
 * at a time. During a commit the appender collects the records of the next transaction without sending them.
 */
export class PartitionAppender implements RecordAppender {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly #pool: BufferPool
  readonly #phase: TransactionPhase
  readonly #codec: Compression
  readonly #maxBatchBytes: number
  /** Maximum size of a batch, unless a single record is larger. */
  readonly #batchLimitBytes: number
  #current: BatchWriter | undefined
  #full: BatchWriter[] = []
  /** Full batches that wait for the next transaction. */
  #held: BatchWriter[] = []
  #heldRecords = 0
  #sent: SentBatch | undefined
  #sequence = 0
  #pendingRecords = 0
  /** True while a request that contains the batch `#sent` is in flight. */
  inFlight = false
  /** Earliest reading of `Runtime.monotonic` at which a batch may be sent. */
  retryAt = 0
  attempts = 0
  /** Reading of `Runtime.monotonic` at the first failed attempt since the last acknowledgement; undefined if none. */
  troubledSince: number | undefined
  /** True if another broker may lead the partition now, because the last attempt was refused or not answered. */
  leaderLost = false
  /**
   * The offset after the last acknowledged batch of this transaction; undefined before the first acknowledgement, and
   * -1 when the broker did not return the offset.
   */
  nextOffset: number | undefined
  /** The offset after the last batch that was acknowledged since `init`, in any transaction; -1 when it is unknown. */
  #logEnd = -1

  constructor(topic: string, partition: number, { pool, phase, codec, maxBatchBytes = Infinity }: AppenderOptions) {
    this.topic = topic
    this.partition = partition
    this.key = partitionKey(topic, partition)
    this.#pool = pool
    this.#phase = phase
    this.#codec = codec
    this.#maxBatchBytes = maxBatchBytes
    this.#batchLimitBytes =
      maxBatchBytes < DEFAULT_MAX_BATCH_BYTES ? Math.min(BATCH_LIMIT_BYTES, maxBatchBytes * SMALL_LIMIT_SHARE) : BATCH_LIMIT_BYTES
  }

  /** Number of records that are not committed yet, including those of the next transaction. */
  get pendingRecords(): number {
    return this.#pendingRecords + this.#heldRecords
  }

  /** Number of records in the open transaction, whether sent or not. */
  get admittedRecords(): number {
    return this.#pendingRecords
  }

  get pendingBytes(): number {
    let bytes = (this.#current?.bytes ?? 0) + (this.#sent?.bytes.length ?? 0)
    for (const writer of this.#full) bytes += writer.bytes
    for (const writer of this.#held) bytes += writer.bytes
    return bytes
  }

  append(
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers?: readonly RecordHeader[],
  ): void {
    const bytes = recordBytesBound(keyEnd - keyStart, valueEnd - valueStart, headers)
    if (RECORDS_AT + bytes > this.#maxBatchBytes) this.check(timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers)
    let writer = this.#current
    if (writer !== undefined && writer.bytes + bytes > this.#batchLimitBytes) {
      this.seal()
      writer = undefined
    }
    if (writer === undefined) {
      writer = new BatchWriter(this.#pool.take())
      this.#current = writer
    }
    writer.append(timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers)
    if (this.#phase.committing) this.#heldRecords++
    else this.#pendingRecords++
  }

  check(...record: RecordFields): void {
    const [, , keyStart, keyEnd, , valueStart, valueEnd, headers] = record
    if (RECORDS_AT + recordBytesBound(keyEnd - keyStart, valueEnd - valueStart, headers) <= this.#maxBatchBytes) return
    const alone = new BatchWriter()
    alone.append(...record)
    this.#checkSize(alone)
  }

  /**
   * Throws MESSAGE_TOO_LARGE if the topic would refuse the record.
   * @param alone a batch that contains only this record
   */
  #checkSize(alone: BatchWriter): void {
    const bytes = this.#codec === 'none' ? alone.bytes : alone.finish(NO_STAMP, this.#codec).length
    if (bytes <= this.#maxBatchBytes) return
    throw recordTooLarge(this.topic, this.#maxBatchBytes, bytes)
  }

  /** Closes the current batch. The batch is then ready to be sent, or is held back until its transaction begins. */
  seal(): void {
    if (this.#current === undefined) return
    if (this.#phase.committing) this.#held.push(this.#current)
    else this.#full.push(this.#current)
    this.#current = undefined
  }

  /**
   * Closes the current batch if it is large enough for a request and no other batch of this partition is in flight or
   * ready to be sent.
   */
  sealLarge(): void {
    if (this.#current !== undefined && this.#current.bytes >= EARLY_BATCH_BYTES && !this.hasWork) this.seal()
  }

  /** True while a batch is in flight or ready to be sent. */
  get hasWork(): boolean {
    return this.#sent !== undefined || this.#full.length > 0
  }

  /** Returns the batch to send now: the unacknowledged batch, if there is one; otherwise the next full batch. */
  take(identity: ProducerIdentity): SentBatch {
    if (this.#sent !== undefined) return this.#sent
    const writer = this.#full.shift() as BatchWriter
    const bytes = writer.finish({ ...identity, baseSequence: this.#sequence }, identity.codec)
    this.#sequence = (this.#sequence + writer.count) % SEQUENCE_SPAN
    this.#sent = { writer, bytes, count: writer.count }
    return this.#sent
  }

  /**
   * Returns true if the broker appended a batch below the known end of the log. In that case, the log has lost
   * acknowledged records.
   */
  isBelowLogEnd(baseOffset: number): boolean {
    return baseOffset >= 0 && baseOffset < this.#logEnd
  }

  /** Forgets the known end of the log. Must be called when the producer starts over. */
  forgetLogEnd(): void {
    this.#logEnd = -1
  }

  /**
   * Handles the acknowledgement of the batch in flight.
   * @param baseOffset -1 when the broker did not return it
   */
  acknowledge(baseOffset: number): void {
    const batch = this.#sent as SentBatch
    this.nextOffset = baseOffset < 0 ? -1 : baseOffset + batch.count
    this.#logEnd = Math.max(this.#logEnd, this.nextOffset)
    this.#pool.give(batch.writer.release())
    this.#sent = undefined
    this.#calm()
  }

  /**
   * True when a batch was sent but not acknowledged. It is then unknown whether the broker has appended the batch and
   * so used up its sequence numbers.
   */
  get hasUnacknowledged(): boolean {
    return this.#sent !== undefined
  }

  /** Drops all pending records. No batch may be in flight. */
  clear(): void {
    for (const writer of [...this.#full, ...this.#held]) this.#pool.give(writer.release())
    if (this.#current !== undefined) this.#pool.give(this.#current.release())
    if (this.#sent !== undefined) this.#pool.give(this.#sent.writer.release())
    this.#full = []
    this.#held = []
    this.#heldRecords = 0
    this.#current = undefined
    this.#sent = undefined
    this.#calm()
    this.endTransaction()
  }

  #calm(): void {
    this.attempts = 0
    this.retryAt = 0
    this.troubledSince = undefined
    this.leaderLost = false
  }

  /**
   * Must be called when all records are acknowledged and the transaction has ended. The held-back records begin the
   * next transaction.
   */
  endTransaction(): void {
    this.#full = this.#held
    this.#held = []
    this.#pendingRecords = this.#heldRecords
    this.#heldRecords = 0
    this.nextOffset = undefined
  }

  /** Must be called after a failed commit. The held-back records join the transaction, because it is still open. */
  stopHolding(): void {
    this.#full.push(...this.#held)
    this.#held = []
    this.#pendingRecords += this.#heldRecords
    this.#heldRecords = 0
  }

  /** Restarts the sequence numbers at 0. Must be called for every new producer epoch. */
  restartSequence(): void {
    this.#sequence = 0
  }
}
