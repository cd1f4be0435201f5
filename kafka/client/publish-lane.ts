import type { Runtime } from '../../runtime/runtime.ts'
import { recordBytesBound } from '../record-batch/writer.ts'
import { type PublishAppender, partitionKey, type Receipt, type RecordHeader, TransportError } from '../transport.ts'
import type { BufferPool } from './appender.ts'
import { type Holdings, PublishBatch } from './publish-batch.ts'
import type { ProducerId } from './transaction.ts'

/** Brokers take 1 MiB (`max.message.bytes`) unless the topic says otherwise. A larger record is a batch of its own. */
const BATCH_LIMIT_BYTES = 900 * 1_024
/** The broker remembers the last five batches of a producer: a repetition of one of them is recognised. */
const MAX_UNRESOLVED_BATCHES = 5
/** A broker that knows nothing of a producer takes any sequence number from it. It forgets silent ones after a day (`producer.id.expiration.ms`). */
const REMEMBERED_FOR_MS = 10 * 60_000
/** Sequence numbers are unsigned 31-bit and begin again at 0. */
const SEQUENCE_SPAN = 2 ** 31
/** Epochs are signed 16-bit. Behind the last one only a new producer id helps. */
const LAST_EPOCH = 2 ** 15 - 1
const FIRST_RETRY_MS = 10
const LONGEST_RETRY_MS = 1_000
/** These name the batch; one record alone may be to blame. */
const DIVISIBLE: ReadonlySet<string> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
  'CORRUPT_MESSAGE',
])
const TOO_LARGE: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/**
 * What one request brought for one batch.
 * - `appended`: the batch is in the log, and with it every earlier one of its producer epoch
 * - `out-of-sequence`: not in the log, because the broker has not seen what comes before it (or does not know the producer any more)
 * - `refused`: not in the log, and repeating it does not help
 * - `unknown`: no answer, or one that may change; the batch may be in the log
 */
export type Outcome =
  | { readonly kind: 'appended' | 'out-of-sequence' }
  | { readonly kind: 'refused'; readonly error: TransportError }
  | { readonly kind: 'unknown'; readonly reason: string; readonly leaderLost: boolean }

/** A batch with a sequence number. Its bytes never change as long as it has that number. */
export interface StampedBatch {
  readonly batch: PublishBatch
  readonly bytes: Buffer
  isInFlight: boolean
  sends: number
  outcome: Outcome | undefined
}

/** What the lanes of one publisher share. */
export interface LaneDeps {
  readonly holdings: Holdings
  readonly pool: BufferPool
  readonly runtime: Pick<Runtime, 'monotonic' | 'random'>
  /** Throws when the publisher takes no record of this size now. */
  admit(bytes: number): void
  /** There is something to send. */
  onWork(lane: PublishLane): void
  /** The broker has lost acknowledged records of this partition, or its memory of this producer. */
  onSequenceLost(lane: PublishLane): void
}

/**
 * The records of one partition between `append` and their fate.
 *
 * Batches get sequence numbers in order, and up to five are in flight at a time. As soon as one of them is not acknowledged, no new one is
 * sent: when all answers are there, those without an acknowledgement are sent again, in order, with the same bytes. The broker takes a batch
 * only when it has the one before it, so one acknowledgement settles all earlier batches, whatever their own answers were. This also covers a
 * restarted broker, which recognises only the last batch of a producer. The first batch of an epoch travels alone. When every batch is refused as out of sequence, none of them is in
 * the log, and they get new numbers under a new epoch.
 */
export class PublishLane implements PublishAppender {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly #deps: LaneDeps
  /** undefined: the publisher must give one before anything is sent. */
  identity: ProducerId | undefined
  /** The leader may be another broker now. */
  leaderLost = false
  /** Monotonic ms before which nothing is sent. */
  retryAt = 0
  /** A batch is to be repeated: no new one is sent before it. */
  #isRepeating = false
  /** Why the last try failed; undefined after a success. */
  trouble: string | undefined
  #attempts = 0
  #sequence = 0
  /** Monotonic ms of the last acknowledgement under this identity. */
  #acknowledgedAt = Number.NEGATIVE_INFINITY
  #limitBytes = BATCH_LIMIT_BYTES
  #current: PublishBatch | undefined
  #ready: PublishBatch[] = []
  /** In the order of their sequence numbers. */
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
    // What waits already is looked after; a deadline may come before the next look.
    if (!isWaiting || receipt.timeoutMs !== undefined) this.#deps.onWork(this)
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

  /** True when `take` may be called as far as this partition is concerned. */
  isSendable(now: number): boolean {
    if (now < this.retryAt) return false
    if (this.#stamped.some(isToRepeat)) return true
    return !this.#isRepeating && this.#stamped.length < this.#maxUnresolved(now) && this.#hasUnsent
  }

  /** One, until the broker is known to have the sequence that the next batches belong to: else it would take the second and miss the first. */
  #maxUnresolved(now: number): number {
    return now - this.#acknowledgedAt < REMEMBERED_FOR_MS ? MAX_UNRESOLVED_BATCHES : 1
  }

  /** Bytes of the batch that `take` returns next. */
  get nextBytes(): number {
    const again = this.#stamped.find(isToRepeat)
    return again?.bytes.length ?? (this.#ready[0] ?? this.#current)?.bytes ?? 0
  }

  /** The batch to send now; the lane must be sendable and have an identity. */
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

  /** Takes the outcome of one sending. */
  answered(stamped: StampedBatch, outcome: Outcome): void {
    stamped.isInFlight = false
    stamped.outcome = outcome
    const index = this.#stamped.indexOf(stamped)
    // A later batch's acknowledgement has settled it already.
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
      // Memory that an unanswered request may still be reading is not used again.
      if (!isInFlight && sends === 1) this.#deps.pool.give(batch.writer.release())
    }
    this.#attempts = 0
    this.#acknowledgedAt = this.#deps.runtime.monotonic()
  }

  /** Decides what is next when every batch of this round is answered. */
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
    const [refused, ...rest] = this.#stamped.map(({ batch }) => batch)
    const parts: PublishBatch[] = []
    if (refused.count > 1 && DIVISIBLE.has(error.code)) {
      const middle = refused.count >>> 1
      if (TOO_LARGE.has(error.code)) this.#limitBytes = Math.min(this.#limitBytes, refused.bytes >>> 1)
      for (const part of [refused.select(0, middle), refused.select(middle)]) if (part !== undefined) parts.push(part)
      refused.discard()
    } else refused.settle(error)
    // Those behind it carry numbers that the broker cannot take without it.
    this.#renumber(rest)
    this.#ready.unshift(...parts)
    this.#recover()
  }

  /** None of these is in the log: they go back to the front of the line, to be sent under a new epoch. */
  #renumber(batches: readonly PublishBatch[]): void {
    this.#stamped = []
    // Copies: the memory of a batch that was sent before may still be read by its old connection.
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
    // An epoch belongs to the partition as far as the broker is concerned, and refuses what is late from the ones before it.
    this.identity = identity.producerEpoch < LAST_EPOCH ? { ...identity, producerEpoch: identity.producerEpoch + 1 } : undefined
  }

  #recover(): void {
    this.#isRepeating = false
    this.trouble = undefined
    this.leaderLost = false
    this.#attempts = 0
    this.retryAt = 0
  }

  /** Waits before the next try: twice as long each time. */
  postpone(reason?: string): void {
    this.trouble = reason ?? this.trouble
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(this.#attempts++, 10), LONGEST_RETRY_MS)
    this.retryAt = this.#deps.runtime.monotonic() + wait * (0.9 + 0.2 * this.#deps.runtime.random())
    if (this.#stamped.length === 0) this.#isRepeating = false
  }

  /** Reports the records whose time is up. Those that were not sent are dropped; those that were stay until their outcome is known. */
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
      batch.abandonExpired(now, timedOut('the record was not sent'))
      const rest = batch.select()
      batch.discard()
      return rest === undefined ? [] : [rest]
    }
    this.#ready = this.#ready.flatMap(keep)
    this.#current = this.#current === undefined ? undefined : keep(this.#current)[0]
    if (!this.#stamped.some(({ isInFlight }) => isInFlight)) this.#dropAbandoned()
  }

  /** What nobody waits for is not sent again. A new epoch keeps what is late of it from getting in between. */
  #dropAbandoned(): boolean {
    if (this.#stamped.length === 0 || !this.#stamped.every(({ batch }) => batch.isAbandoned)) return false
    for (const { batch } of this.#stamped) batch.discard()
    this.#renumber([])
    this.#isRepeating = false
    return true
  }

  /** Fails everything. Nothing of it may be sent afterwards. */
  fail(error: TransportError): void {
    const batches = [...this.#stamped.map(({ batch }) => batch), ...this.#ready, ...(this.#current === undefined ? [] : [this.#current])]
    this.#stamped = []
    this.#ready = []
    this.#current = undefined
    for (const batch of batches) batch.settle(error)
  }
}

function isToRepeat({ isInFlight, outcome }: StampedBatch): boolean {
  return !isInFlight && outcome === undefined
}
