import type { Runtime } from '../../runtime/runtime.ts'
import { recordBytesBound } from '../record-batch/writer.ts'
import { type PublishAppender, partitionKey, type Receipt, type RecordHeader, TransportError } from '../transport.ts'
import { BATCH_LIMIT_BYTES, type BufferPool, SEQUENCE_SPAN } from './appender.ts'
import type { Outcome } from './produce-request.ts'
import { type Holdings, PublishBatch } from './publish-batch.ts'
import type { ProducerId } from './transaction.ts'

/**
 * Maximum number of batches with an unknown outcome. A broker recognises a repeated batch only if it is one of the
 * producer's last five.
 */
const MAX_UNRESOLVED_BATCHES = 5
/**
 * How long after an acknowledgement the lane relies on the broker to remember the producer. A broker forgets idle
 * producers after a day (`producer.id.expiration.ms`), and then accepts any sequence number from them.
 */
const REMEMBERED_FOR_MS = 10 * 60_000
/** The highest possible epoch: epochs are signed 16-bit integers. After this epoch the lane needs a new producer id. */
const LAST_EPOCH = 2 ** 15 - 1
const FIRST_RETRY_MS = 10
const LONGEST_RETRY_MS = 1_000
/** Errors that a broker reports for a whole batch, although a single record may have caused them. */
const DIVISIBLE: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'INVALID_TIMESTAMP'])
/** The error of a broker that may have failed after it wrote the batch. */
const UNEXPLAINED = 'UNKNOWN_SERVER_ERROR'
const TOO_LARGE: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** A batch with a sequence number. The bytes of the batch do not change while it has that number. */
export interface StampedBatch {
  readonly batch: PublishBatch
  readonly bytes: Buffer
  isInFlight: boolean
  sends: number
  outcome: Outcome | undefined
}

/** State and callbacks that the lanes of one publisher share. */
export interface LaneDeps {
  readonly holdings: Holdings
  readonly pool: BufferPool
  readonly runtime: Pick<Runtime, 'monotonic' | 'random'>
  /** Throws if the publisher cannot accept a record of this size now. */
  admit(bytes: number): void
  /** Called when the lane has something to send. */
  onWork(lane: PublishLane): void
  /** Called when the broker has lost acknowledged records of this partition, or its state of this producer. */
  onSequenceLost(lane: PublishLane): void
}

/**
 * The records of one partition from `append` to their outcome.
 *
 * Batches get sequence numbers in order, and up to five of them are in flight at a time. If a batch is not
 * acknowledged, the lane sends no new batches. It waits for all outstanding responses, and then sends the
 * unacknowledged batches again, in order and with the same bytes. The broker accepts a batch only after the preceding
 * one, so one acknowledgement settles all earlier batches, regardless of their own responses. This order prevents
 * duplicates even with a restarted broker, which recognises only the last batch of a producer. The first batch of an
 * epoch is sent alone. If every batch is refused as out of sequence, the log contains none of them, and they get new
 * numbers under a new epoch.
 */
export class PublishLane implements PublishAppender {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly #deps: LaneDeps
  /**
   * The producer id and epoch; undefined until the publisher assigns them, and again when the epochs of the id are used
   * up.
   */
  identity: ProducerId | undefined
  /** True when another broker may lead the partition now. */
  leaderLost = false
  /** Nothing is sent before this monotonic time (ms). */
  retryAt = 0
  /** True while a batch must be retried; no new batch is sent before that batch. */
  #isRepeating = false
  /** Why sending fails at present; undefined while it works. */
  trouble: string | undefined
  #attempts = 0
  #sequence = 0
  /** Monotonic time (ms) of the last acknowledgement under this identity. */
  #acknowledgedAt = Number.NEGATIVE_INFINITY
  #limitBytes = BATCH_LIMIT_BYTES
  #current: PublishBatch | undefined
  #ready: PublishBatch[] = []
  /** Batches with a sequence number, in order. */
  #stamped: StampedBatch[] = []

  constructor(topic: string, partition: number, deps: LaneDeps) {
    this.topic = topic
    this.partition = partition
    this.key = partitionKey(topic, partition)
    this.#deps = deps
  }

  append(
    receipt: Receipt,
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers?: readonly RecordHeader[],
  ): void {
    const bound = recordBytesBound(keyEnd - keyStart, valueEnd - valueStart, headers)
    this.#deps.admit(bound)
    const isWaiting = this.#hasUnsent
    if (this.#current !== undefined && this.#current.bytes + bound > this.#limitBytes) {
      this.#ready.push(this.#current)
      this.#current = undefined
    }
    this.#current ??= new PublishBatch(this.#deps.holdings, this.#deps.pool.take())
    const deadline = receipt.timeoutMs === undefined ? Number.POSITIVE_INFINITY : this.#deps.runtime.monotonic() + receipt.timeoutMs
    this.#current.append(receipt, deadline, timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers)
    // If records were already waiting, the publisher has already scheduled its next check. The publisher must still be
    // notified about a record with a deadline, because the deadline may be earlier than that check.
    if (!isWaiting || receipt.timeoutMs !== undefined) this.#deps.onWork(this)
  }

  /** Number of failed attempts in succession. */
  get attempts(): number {
    return this.#attempts
  }

  get hasWork(): boolean {
    return this.#stamped.length > 0 || this.#hasUnsent
  }

  get #hasUnsent(): boolean {
    return this.#ready.length > 0 || this.#current !== undefined
  }

  get earliestDeadline(): number {
    let earliest = this.#current?.earliestDeadline ?? Number.POSITIVE_INFINITY
    for (const batch of this.#ready) earliest = Math.min(earliest, batch.earliestDeadline)
    for (const { batch } of this.#stamped) earliest = Math.min(earliest, batch.earliestDeadline)
    return earliest
  }

  /** Returns true if `take` may be called for this partition. */
  isSendable(now: number): boolean {
    if (now < this.retryAt) return false
    if (this.#stamped.some(isToRepeat)) return true
    return !this.#isRepeating && this.#stamped.length < this.#maxUnresolved(now) && this.#hasUnsent
  }

  /**
   * Returns how many batches may be unresolved. Without a recent acknowledgement, this is only one, because a broker
   * that does not remember the producer might accept the second batch without the first.
   */
  #maxUnresolved(now: number): number {
    return now - this.#acknowledgedAt < REMEMBERED_FOR_MS ? MAX_UNRESOLVED_BATCHES : 1
  }

  /** Size of the batch that the next `take` returns. */
  get nextBytes(): number {
    const again = this.#stamped.find(isToRepeat)
    return again?.bytes.length ?? (this.#ready[0] ?? this.#current)?.bytes ?? 0
  }

  /** Returns the batch to send now. The lane must be sendable and have an identity. */
  take(): StampedBatch {
    const next = this.#stamped.find(isToRepeat) ?? this.#stamp()
    next.isInFlight = true
    next.sends++
    return next
  }

  #stamp(): StampedBatch {
    let batch = this.#ready.shift()
    if (batch === undefined) {
      batch = this.#current as PublishBatch
      this.#current = undefined
    }
    const identity = this.identity as ProducerId
    const bytes = batch.stamp({ ...identity, baseSequence: this.#sequence, transactional: false })
    this.#sequence = (this.#sequence + batch.count) % SEQUENCE_SPAN
    const stamped: StampedBatch = { batch, bytes, isInFlight: false, sends: 0, outcome: undefined }
    this.#stamped.push(stamped)
    return stamped
  }

  /** Handles the outcome of one request for a batch. */
  answered(stamped: StampedBatch, outcome: Outcome): void {
    stamped.isInFlight = false
    stamped.outcome = outcome
    const index = this.#stamped.indexOf(stamped)
    // This batch is settled already, for example by the acknowledgement of a later batch.
    if (index < 0) return
    if (outcome.kind === 'appended') this.#acknowledgeUpTo(index)
    else {
      this.#isRepeating = true
      if (outcome.kind !== 'refused') this.trouble ??= outcome.kind === 'unknown' ? outcome.reason : outcome.kind
      if (outcome.kind === 'unknown' && outcome.leaderLost) this.leaderLost = true
    }
    this.#conclude()
  }

  #acknowledgeUpTo(index: number): void {
    for (const { batch, isInFlight, sends } of this.#stamped.splice(0, index + 1)) {
      batch.settle(undefined)
      // The memory is not reused while an unanswered request may still read it.
      if (!isInFlight && sends === 1) this.#deps.pool.give(batch.writer.release())
    }
    this.#attempts = 0
    this.#acknowledgedAt = this.#deps.runtime.monotonic()
  }

  /**
   * Decides whether the batches with a sequence number are sent again, renumbered, failed or dropped. Does nothing
   * until all of them have an outcome.
   */
  #conclude(): void {
    if (this.#stamped.some((one) => one.isInFlight || one.outcome === undefined)) return
    if (this.#stamped.length === 0) {
      this.#recover()
      return
    }
    const head = this.#stamped[0].outcome as Outcome
    if (this.#dropAbandoned()) return
    if (head.kind === 'refused') this.#refuseHead(head.error)
    else if (this.#stamped.every(({ outcome }) => outcome?.kind !== 'unknown')) {
      this.#deps.onSequenceLost(this)
      this.#renumber(this.#stamped.map(({ batch }) => batch))
      this.postpone()
    } else {
      for (const one of this.#stamped) one.outcome = undefined
      this.postpone()
    }
  }

  #refuseHead(error: TransportError): void {
    const [{ sends }] = this.#stamped
    const [refused, ...rest] = this.#stamped.map(({ batch }) => batch)
    const parts: PublishBatch[] = []
    if (refused.count > 1 && DIVISIBLE.has(error.code)) {
      const middle = refused.count >>> 1
      if (TOO_LARGE.has(error.code)) this.#limitBytes = Math.min(this.#limitBytes, refused.bytes >>> 1)
      for (const part of [refused.select(0, middle), refused.select(middle)]) if (part !== undefined) parts.push(part)
      refused.discard()
    } else refused.settle(refusal(error, sends))
    // Without this batch, the broker cannot accept the sequence numbers of later batches.
    this.#renumber(rest)
    this.#ready.unshift(...parts)
    this.#recover()
  }

  /** Puts batches that the log does not contain back at the front of the queue, to be sent under a new epoch. */
  #renumber(batches: readonly PublishBatch[]): void {
    this.#stamped = []
    // The records are copied, because an old connection may still read the memory of a batch that was sent.
    const copies = batches.flatMap((batch) => {
      const copy = batch.select()
      batch.discard()
      return copy ?? []
    })
    this.#ready.unshift(...copies)
    this.#sequence = 0
    this.#acknowledgedAt = Number.NEGATIVE_INFINITY
    const { identity } = this
    if (identity === undefined) return
    // Once the broker has received a batch with the new epoch, it refuses late requests from earlier epochs. Brokers
    // track a producer's epoch per partition, so each lane can raise it on its own.
    this.identity = identity.producerEpoch < LAST_EPOCH ? { ...identity, producerEpoch: identity.producerEpoch + 1 } : undefined
  }

  #recover(): void {
    this.#isRepeating = false
    this.trouble = undefined
    this.leaderLost = false
    this.#attempts = 0
    this.retryAt = 0
  }

  /** Delays the next attempt. The delay doubles with each failure, up to one second. */
  postpone(reason?: string): void {
    this.trouble = reason ?? this.trouble
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(this.#attempts++, 10), LONGEST_RETRY_MS)
    this.retryAt = this.#deps.runtime.monotonic() + wait * (0.9 + 0.2 * this.#deps.runtime.random())
    if (this.#stamped.length === 0) this.#isRepeating = false
  }

  /** Reports the expired records as failed, and drops those that were not sent. */
  expire(now: number): void {
    if (this.earliestDeadline > now) return
    const { key, trouble } = this
    const timedOut = (sent: string) => () =>
      new TransportError('TIMED_OUT', `publish to ${key}: no acknowledgement in time${trouble ? ` (${trouble})` : ''}; ${sent}`, {
        fatal: false,
      })
    for (const { batch } of this.#stamped) batch.abandonExpired(now, timedOut('the record may have been written'))
    const keep = (batch: PublishBatch): PublishBatch[] => {
      if (batch.earliestDeadline > now) return [batch]
      batch.abandonExpired(now, timedOut('the record was not written'))
      const rest = batch.select()
      batch.discard()
      return rest === undefined ? [] : [rest]
    }
    this.#ready = this.#ready.flatMap(keep)
    this.#current = this.#current === undefined ? undefined : keep(this.#current)[0]
    if (!this.#stamped.some(({ isInFlight }) => isInFlight)) this.#dropAbandoned()
  }

  /**
   * Drops the batches with a sequence number if the outcomes of all their records have been reported. Returns whether
   * it dropped them. A late request that contains a dropped batch cannot interfere with later batches, because they
   * have a new epoch.
   */
  #dropAbandoned(): boolean {
    if (this.#stamped.length === 0 || !this.#stamped.every(({ batch }) => batch.isAbandoned)) return false
    for (const { batch } of this.#stamped) batch.discard()
    this.#renumber([])
    this.#isRepeating = false
    return true
  }

  /**
   * Fails all records. Records that were already sent may be in the log, so their error is not fatal. Each error
   * message says whether the record may have been written.
   */
  fail(error: TransportError): void {
    const sent = this.#stamped.map(({ batch }) => batch)
    const unsent = [...this.#ready, ...(this.#current === undefined ? [] : [this.#current])]
    this.#ready = []
    this.#current = undefined
    // The log may lack the dropped batches, so later records need new sequence numbers. The dropped batches are never
    // sent again, so no record may wait for them.
    if (sent.length > 0) this.#renumber([])
    this.#isRepeating = false
    for (const batch of sent) batch.settle(uncertain(error))
    for (const batch of unsent) batch.settle(explained(error, 'the record was not written', error.fatal))
  }
}

/**
 * Returns the error to report for a refused batch. If the records themselves caused the refusal, they are not in the
 * log. Otherwise they may be in the log if the batch was sent more than once, or if the error is unexplained.
 */
function refusal(error: TransportError, sends: number): TransportError {
  if (DIVISIBLE.has(error.code) || (sends === 1 && error.code !== UNEXPLAINED)) return error
  return uncertain(error)
}

/** Returns the error of a record that may be in the log. */
function uncertain(error: TransportError): TransportError {
  return explained(error, 'the record may have been written', false)
}

/** Returns the error with `fate` appended to its message. `fate` says whether the record may have been written. */
function explained(error: TransportError, fate: string, fatal: boolean): TransportError {
  return new TransportError(error.code, `${error.message}; ${fate}`, { fatal, cause: error })
}

function isToRepeat({ isInFlight, outcome }: StampedBatch): boolean {
  return !isInFlight && outcome === undefined
}
