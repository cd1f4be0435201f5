import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import {
  ATTRIBUTES_AT,
  BASE_SEQUENCE_AT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  readInt64,
  TRANSACTIONAL_BIT,
  writeInt64,
} from '../../../kafka/record-batch/format.ts'
import { type Batch, isCompressed, markerBytes, recordsOf, stampAppendTime, withRecords } from './batches.ts'
import { Refused } from './errors.ts'
import { ExpectedProducers } from './expected-producers.ts'
import type { Identity, Marker } from './transactions.ts'

/** How many batches a broker remembers per producer, in order to recognise retries. */
const REMEMBERED_BATCHES = 5

interface ProducerState {
  epoch: number
  /** The producer's last batches in this epoch. */
  batches: Batch[]
  /** First offset of the open transaction. */
  openFrom: number | undefined
}

/** The first offset of a leader epoch. */
interface EpochStart {
  readonly epoch: number
  readonly start: number
}

/** The latest leader epoch up to the requested one, and the offset at which that epoch ends. */
export interface EpochEnd {
  readonly epoch: number
  readonly offset: number
}

export interface AbortedRange {
  readonly producerId: number
  readonly first: number
  readonly last: number
}

/** The part of a leader's log that readers can see. */
export interface ReadableLog {
  readonly leader: number
  readonly leaderEpoch: number
  readonly start: number
  readonly end: number
  readonly highWatermark: number
  readonly lastStable: number
  /** @returns undefined if the epoch is later than the leader's epoch */
  endOf(epoch: number): EpochEnd | undefined
  /**
   * @param below only batches that end below this offset are read
   * @returns whole batches, starting with the first batch that ends at or after the offset, up to `limit` bytes; at
   * least one batch if there is one
   */
  read(offset: number, below: number, limit: number): { readonly records: Buffer; readonly aborted: AbortedRange[] }
}

/** The log of one partition, and the state of producers that its leader keeps. */
export class PartitionLog implements ReadableLog {
  readonly topic: string
  readonly partition: number
  leader = 0
  leaderEpoch = 0
  /** All in-sync replicas have the records below this offset, so a new leader has them, too. */
  highWatermark = 0
  /** First offset of the log. Retention advances it. */
  start = 0
  /** The batches that remain after compaction and retention, in offset order. */
  readonly #batches: Batch[] = []
  /** All batches that were ever appended, except batches that a change of leader has lost. */
  readonly #history: Batch[] = []
  #epochs: EpochStart[] = [{ epoch: 0, start: 0 }]
  #producers = new Map<number, ProducerState>()
  #expected = new ExpectedProducers()
  #aborted: AbortedRange[] = []
  readonly #waiters = new Set<() => void>()

  readonly #appendTime: (() => number) | undefined

  /**
   * @param appendTime returns the timestamp (epoch ms) that the broker sets; without it, records keep their own
   * timestamps
   */
  constructor(topic: string, partition: number, appendTime?: () => number) {
    this.topic = topic
    this.partition = partition
    this.#appendTime = appendTime
  }

  get end(): number {
    return (this.#history.at(-1)?.lastOffset ?? -1) + 1
  }

  get lastStable(): number {
    let stable = this.highWatermark
    for (const { openFrom } of this.#producers.values()) if (openFrom !== undefined && openFrom < stable) stable = openFrom
    return stable
  }

  #hasOpenTransaction(producerId: number, epoch: number): boolean {
    const state = this.#producers.get(producerId)
    return state?.openFrom !== undefined && state.epoch === epoch
  }

  /** Returns the producer of a batch that opens a transaction in this log; undefined for any other batch. */
  opens(sent: Buffer): Identity | undefined {
    const producerId = readInt64(sent, PRODUCER_ID_AT)
    const epoch = sent.readInt16BE(PRODUCER_EPOCH_AT)
    if ((sent.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL_BIT) === 0 || this.#hasOpenTransaction(producerId, epoch)) return undefined
    return { producerId, epoch }
  }

  /** Must be called before the coordinator is asked whether this log belongs to the producer's transaction. */
  expect(sent: Buffer, producer: Identity, adds: boolean): void {
    this.#expected.add(producer, sent.readInt32BE(BASE_SEQUENCE_AT), adds)
  }

  /**
   * Calls back whenever the readable range or the leader changes.
   * @returns a function that ends the subscription
   */
  onChange(callback: () => void): () => void {
    this.#waiters.add(callback)
    return () => this.#waiters.delete(callback)
  }

  changed(): void {
    for (const callback of [...this.#waiters]) callback()
  }

  /**
   * Appends a batch as a producer sent it.
   * @returns its first offset, even for a batch that the log already has
   */
  append(sent: Buffer): number {
    const producerId = readInt64(sent, PRODUCER_ID_AT)
    const epoch = sent.readInt16BE(PRODUCER_EPOCH_AT)
    const sequence = sent.readInt32BE(BASE_SEQUENCE_AT)
    const count = sent.readInt32BE(RECORD_COUNT_AT)
    const transactional = (sent.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL_BIT) !== 0
    if (sent.readUInt32BE(CRC_AT) !== crc32c(sent.subarray(ATTRIBUTES_AT)) >>> 0) throw new Refused('CORRUPT_MESSAGE')
    if (producerId >= 0) {
      const known = this.#producers.get(producerId)
      const before = known?.epoch === epoch ? known.batches.find(({ baseSequence }) => baseSequence === sequence) : undefined
      if (before !== undefined && before.lastOffset - before.baseOffset === count - 1) return before.baseOffset
      if (known !== undefined && epoch < known.epoch) throw new Refused('INVALID_PRODUCER_EPOCH')
      const expected = this.#expected.find(producerId)
      if (this.opens(sent) !== undefined && expected === undefined) throw new Refused('INVALID_TXN_STATE')
      const isFirst = known === undefined && expected?.adds === true
      if (sequence > (isFirst ? 0 : (expected?.lowestSequence ?? sequence))) throw new Refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
      if (known !== undefined && sequence !== nextSequence(known, epoch)) throw new Refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
      if (transactional) this.#expected.begun(producerId)
    }
    const bytes = Buffer.from(sent)
    const baseOffset = this.end
    writeInt64(bytes, 0, baseOffset)
    bytes.writeInt32BE(this.leaderEpoch, LEADER_EPOCH_AT)
    if (this.#appendTime !== undefined) stampAppendTime(bytes, this.#appendTime())
    const lastOffset = baseOffset + bytes.readInt32BE(LAST_OFFSET_DELTA_AT)
    this.#add({ baseOffset, lastOffset, bytes, producerId, producerEpoch: epoch, baseSequence: sequence, transactional, marker: undefined })
    return baseOffset
  }

  /**
   * Writes the marker that ends a transaction to the log and, at the same time, to all replicas. Has no effect if the
   * producer was fenced before.
   */
  mark(producer: Identity, marker: Marker): void {
    const { producerId, epoch: producerEpoch } = producer
    const known = this.#producers.get(producerId)
    if (known !== undefined && producerEpoch < known.epoch) return
    this.#expected.ended(producer)
    const baseOffset = this.end
    const bytes = markerBytes(baseOffset, this.leaderEpoch, producerId, producerEpoch, marker)
    this.#add({ baseOffset, lastOffset: baseOffset, bytes, producerId, producerEpoch, baseSequence: -1, transactional: true, marker })
    this.replicated(this.end)
  }

  replicated(upTo: number): void {
    if (upTo <= this.highWatermark) return
    this.highWatermark = upTo
    this.changed()
  }

  /**
   * Makes a broker the leader. Batches that end after `keepUpTo` are lost, but a clean election loses no records below
   * the high watermark.
   * @param isClean false for a broker that was not in sync and may lack records below the high watermark
   */
  moveTo(leader: number, keepUpTo: number, isClean = true): void {
    const most = isClean ? Math.max(keepUpTo, this.highWatermark) : keepUpTo
    while (this.end > most) this.#history.pop()
    while ((this.#batches.at(-1)?.lastOffset ?? -1) >= this.end) this.#batches.pop()
    this.leader = leader
    this.leaderEpoch++
    this.#epochs = [...this.#epochs.filter(({ start }) => start < this.end), { epoch: this.leaderEpoch, start: this.end }]
    this.#producers = new Map()
    this.#expected = new ExpectedProducers()
    this.#aborted = []
    for (const batch of this.#history) this.#account(batch)
    // The replicas are assumed to have copied the log of the new leader already.
    this.highWatermark = this.end
    this.changed()
  }

  /**
   * Below an offset, keeps only the last committed record of each key, and removes aborted records. Records without a
   * key stay unless they were aborted. Removes empty batches, except markers and the last batch of a producer. Does
   * nothing if a batch below the offset is compressed.
   * @param upTo at most the last stable offset, and below the last batch
   */
  compact(upTo: number): void {
    const count = this.#indexOf(upTo)
    const old = this.#batches.slice(0, count)
    if (old.some((batch) => batch.marker === undefined && isCompressed(batch))) return
    const data = old.map((batch) => (batch.marker === undefined && !this.#isAborted(batch) ? recordsOf(batch) : []))
    const last = new Map(data.flat().flatMap((record) => (record.key === undefined ? [] : [[record.key, record]])))
    const kept = old.flatMap((batch, i) => {
      if (batch.marker !== undefined) return [batch]
      const records = data[i].filter((record) => record.key === undefined || last.get(record.key) === record)
      const isLast = this.#producers.get(batch.producerId)?.batches.at(-1)?.baseOffset === batch.baseOffset
      return records.length > 0 || isLast ? [withRecords(batch, records)] : []
    })
    this.#batches.splice(0, count, ...kept)
  }

  #isAborted({ producerId, baseOffset, transactional }: Batch): boolean {
    return (
      transactional &&
      this.#aborted.some((range) => range.producerId === producerId && range.first <= baseOffset && baseOffset < range.last)
    )
  }

  /** Deletes the batches that end below an offset. The offset must not exceed the high watermark. */
  deleteBelow(offset: number): void {
    this.#batches.splice(0, this.#indexOf(offset))
    this.start = Math.max(this.start, Math.min(offset, this.#batches[0]?.baseOffset ?? offset))
  }

  /** Reads like `read`, but as if the log had never been compacted or shortened. */
  readEver(offset: number): ReturnType<ReadableLog['read']> {
    return this.#read(this.#history, offset, this.lastStable, Number.POSITIVE_INFINITY)
  }

  endOf(epoch: number): EpochEnd | undefined {
    return endIn(this.#epochs, this.leaderEpoch, this.end, epoch)
  }

  read(offset: number, below: number, limit: number): ReturnType<ReadableLog['read']> {
    return this.#read(this.#batches, offset, below, limit)
  }

  /**
   * Returns the log that the current leader keeps if it does not learn that another broker has become the leader.
   * Replicas no longer copy this log, so its high watermark does not advance.
   */
  formerLog(): ReadableLog {
    const { leader, leaderEpoch, start, end, highWatermark, lastStable } = this
    const epochs = this.#epochs
    return {
      leader,
      leaderEpoch,
      start,
      end,
      highWatermark,
      lastStable,
      endOf: (epoch) => endIn(epochs, leaderEpoch, end, epoch),
      // Below the high watermark, the copy of the former leader equals the history: the former leader has not compacted
      // its copy, and a clean election removes no records there.
      read: (offset, below, limit) => this.#read(this.#history, offset, below, limit),
    }
  }

  #read(batches: readonly Batch[], offset: number, below: number, limit: number): ReturnType<ReadableLog['read']> {
    const found: Buffer[] = []
    let bytes = 0
    let last = offset - 1
    for (let at = this.#indexOf(offset, batches); at < batches.length; at++) {
      const batch = batches[at]
      if (batch.lastOffset >= below || (bytes > 0 && bytes + batch.bytes.length > limit)) break
      found.push(batch.bytes)
      bytes += batch.bytes.length
      last = batch.lastOffset
    }
    return { records: Buffer.concat(found), aborted: this.#aborted.filter((range) => range.last >= offset && range.first <= last) }
  }

  /** Returns the index of the batch that contains the offset, or of the next batch. */
  #indexOf(offset: number, batches: readonly Batch[] = this.#batches): number {
    let low = 0
    let high = batches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (batches[middle].lastOffset < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  #add(batch: Batch): void {
    this.#batches.push(batch)
    this.#history.push(batch)
    this.#account(batch)
  }

  #account(batch: Batch): void {
    const { producerId, producerEpoch, marker, transactional, baseOffset } = batch
    if (producerId < 0) return
    const state = this.#producers.get(producerId) ?? { epoch: producerEpoch, batches: [], openFrom: undefined }
    this.#producers.set(producerId, state)
    if (producerEpoch > state.epoch) {
      state.epoch = producerEpoch
      state.batches = []
    }
    if (marker === undefined) {
      state.batches = [...state.batches.slice(1 - REMEMBERED_BATCHES), batch]
      if (transactional) state.openFrom ??= baseOffset
      return
    }
    if (marker === 'abort' && state.openFrom !== undefined) this.#aborted.push({ producerId, first: state.openFrom, last: baseOffset })
    state.openFrom = undefined
  }
}

function endIn(epochs: readonly EpochStart[], leaderEpoch: number, end: number, epoch: number): EpochEnd | undefined {
  if (epoch > leaderEpoch) return undefined
  if (epoch === leaderEpoch) return { epoch, offset: end }
  const next = epochs.find((each) => each.epoch > epoch) as EpochStart
  return { epoch: epochs.findLast((each) => each.epoch <= epoch)?.epoch ?? epoch, offset: next.start }
}

function nextSequence(state: ProducerState, epoch: number): number {
  const last = state.epoch === epoch ? state.batches.at(-1) : undefined
  return last === undefined ? 0 : last.baseSequence + (last.lastOffset - last.baseOffset) + 1
}
