import type { Codec } from '../record-batch/compression.ts'
import { BatchWriter, recordBytesBound } from '../record-batch/writer.ts'
import { partitionKey, type RecordAppender, type RecordHeader } from '../transport.ts'

/**
 * Brokers take 1 MiB (`max.message.bytes`) unless told otherwise; the margin covers compression that makes a batch larger. A record above it is a
 * batch of its own: where it may go, its topic takes more.
 */
const BATCH_LIMIT_BYTES = 900 * 1_024
/** From this size on `flushFull` sends a batch before it is full: the broker works while the next records are processed. */
const EARLY_BATCH_BYTES = 256 * 1_024
/** Memory of acknowledged batches kept for the next ones. */
const POOL_LIMIT_BYTES = 32 * 1_048_576
/** Sequence numbers are unsigned 31-bit and begin again at 0. */
const SEQUENCE_SPAN = 2 ** 31

/** The producer id under which batches are written. */
export interface ProducerIdentity {
  readonly producerId: number
  readonly producerEpoch: number
  readonly transactional: boolean
  readonly codec: Codec
}

/** A batch on its way: its bytes, and with them its sequence number, never change once they were sent. */
export interface SentBatch {
  readonly writer: BatchWriter
  readonly bytes: Buffer
  readonly count: number
}

/** Memory of acknowledged batches. */
export interface BufferPool {
  take(): Buffer | undefined
  give(buffer: Buffer): void
}

export function bufferPool(): BufferPool {
  const free: Buffer[] = []
  let bytes = 0
  function take(): Buffer | undefined {
    const buffer = free.pop()
    if (buffer !== undefined) bytes -= buffer.length
    return buffer
  }
  function give(buffer: Buffer): void {
    if (bytes + buffer.length > POOL_LIMIT_BYTES) return
    bytes += buffer.length
    free.push(buffer)
  }
  return { take, give }
}

/** What the appenders of one producer share. */
export interface TransactionPhase {
  /** The open transaction is being committed: what is appended now belongs to the next one, and is held back. */
  committing: boolean
}

/**
 * The records of one partition between `append` and their acknowledgement; in order, one batch under way at a time. While a transaction is
 * committed, the records of the next one are collected and not sent.
 */
export class PartitionAppender implements RecordAppender {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly #pool: BufferPool
  readonly #phase: TransactionPhase
  #current: BatchWriter | undefined
  #full: BatchWriter[] = []
  /** Full batches of the next transaction. */
  #held: BatchWriter[] = []
  #heldRecords = 0
  #sent: SentBatch | undefined
  #sequence = 0
  #pendingRecords = 0
  /** Is a request with `#sent` under way? */
  inFlight = false
  /** Clock reading before which the batch is not sent again. */
  retryAt = 0
  attempts = 0
  /** Clock reading of the first failed try of the batch that is next. */
  troubledSince: number | undefined
  /** The last answer says that the leader may be another broker now. */
  leaderLost = false
  /** After the last acknowledged batch of this transaction; -1 when the broker could not say. */
  nextOffset: number | undefined

  constructor(topic: string, partition: number, pool: BufferPool, phase: TransactionPhase) {
    this.topic = topic
    this.partition = partition
    this.key = partitionKey(topic, partition)
    this.#pool = pool
    this.#phase = phase
  }

  /** Of the next transaction too. */
  get pendingRecords(): number {
    return this.#pendingRecords + this.#heldRecords
  }

  /** Records of the open transaction, sent or not. */
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
    let writer = this.#current
    if (writer !== undefined && writer.bytes + recordBytesBound(keyEnd - keyStart, valueEnd - valueStart, headers) > BATCH_LIMIT_BYTES) {
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

  /** Ends the running batch: it is ready to be sent, or held back until its transaction begins. */
  seal(): void {
    if (this.#current === undefined) return
    if (this.#phase.committing) this.#held.push(this.#current)
    else this.#full.push(this.#current)
    this.#current = undefined
  }

  /** Makes the running batch ready if it is worth a request and none of this partition is waiting. */
  sealLarge(): void {
    if (this.#current !== undefined && this.#current.bytes >= EARLY_BATCH_BYTES && !this.hasWork) this.seal()
  }

  /** True while a batch is under way or ready. */
  get hasWork(): boolean {
    return this.#sent !== undefined || this.#full.length > 0
  }

  /** The batch to send now: the one that must be repeated, else the next one. */
  take(identity: ProducerIdentity): SentBatch {
    if (this.#sent !== undefined) return this.#sent
    const writer = this.#full.shift() as BatchWriter
    const bytes = writer.finish({ ...identity, baseSequence: this.#sequence }, identity.codec)
    this.#sequence = (this.#sequence + writer.count) % SEQUENCE_SPAN
    this.#sent = { writer, bytes, count: writer.count }
    return this.#sent
  }

  /** @param baseOffset -1 when the broker could not say */
  acknowledge(baseOffset: number): void {
    const batch = this.#sent as SentBatch
    this.nextOffset = baseOffset < 0 ? -1 : baseOffset + batch.count
    this.#pool.give(batch.writer.release())
    this.#sent = undefined
    this.#calm()
  }

  /** True when a batch was sent whose fate is unknown: its sequence numbers may or may not be used up. */
  get hasUnacknowledged(): boolean {
    return this.#sent !== undefined
  }

  /** Drops what is pending. Nothing of it may be under way. */
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

  /** Everything is acknowledged and the transaction has ended: what was held back is the beginning of the next one. */
  endTransaction(): void {
    this.#full = this.#held
    this.#held = []
    this.#pendingRecords = this.#heldRecords
    this.#heldRecords = 0
    this.nextOffset = undefined
  }

  /** The commit failed: what was held back is part of the transaction that it leaves open. */
  stopHolding(): void {
    this.#full.push(...this.#held)
    this.#held = []
    this.#pendingRecords += this.#heldRecords
    this.#heldRecords = 0
  }

  /** A new producer epoch counts from 0. */
  restartSequence(): void {
    this.#sequence = 0
  }
}
