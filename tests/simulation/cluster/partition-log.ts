import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import {
  ATTRIBUTES_AT,
  BASE_SEQUENCE_AT,
  BATCH_LENGTH_AT,
  CONTROL_BIT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  LENGTH_PREFIX_BYTES,
  MAGIC_AT,
  MAGIC_V2,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  RECORDS_AT,
  readInt64,
  TRANSACTIONAL_BIT,
  writeInt64,
} from '../../../kafka/record-batch/format.ts'
import { Refused } from './errors.ts'
import { ExpectedProducers } from './expected-producers.ts'
import type { Identity, Marker } from './transactions.ts'

/** A broker remembers this many batches of each producer, to recognise those that are sent again. */
const REMEMBERED_BATCHES = 5

interface Batch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly bytes: Buffer
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly transactional: boolean
  /** Undefined for data. */
  readonly marker: 'commit' | 'abort' | undefined
}

interface ProducerState {
  epoch: number
  /** The last batches of this epoch. */
  batches: Batch[]
  /** Where the open transaction begins. */
  openFrom: number | undefined
}

/** Where the batches of a leader epoch begin. */
interface EpochStart {
  readonly epoch: number
  readonly start: number
}

/** The last epoch up to another one, and the offset where it ends. */
export interface EpochEnd {
  readonly epoch: number
  readonly offset: number
}

export interface AbortedRange {
  readonly producerId: number
  readonly first: number
  readonly last: number
}

/** The log of one partition, with what the leader knows about producers. */
export class PartitionLog {
  readonly topic: string
  readonly partition: number
  leader = 0
  leaderEpoch = 0
  /** Offsets below it are on all replicas. No change of the leader loses them. */
  highWatermark = 0
  readonly #batches: Batch[] = []
  #epochs: EpochStart[] = [{ epoch: 0, start: 0 }]
  #producers = new Map<number, ProducerState>()
  #expected = new ExpectedProducers()
  #aborted: AbortedRange[] = []
  readonly #waiters = new Set<() => void>()

  constructor(topic: string, partition: number) {
    this.topic = topic
    this.partition = partition
  }

  get end(): number {
    return (this.#batches.at(-1)?.lastOffset ?? -1) + 1
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

  /** Returns the producer of a batch that opens a transaction in this log; undefined for other batches. */
  opens(sent: Buffer): Identity | undefined {
    const producerId = readInt64(sent, PRODUCER_ID_AT)
    const epoch = sent.readInt16BE(PRODUCER_EPOCH_AT)
    if ((sent.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL_BIT) === 0 || this.#hasOpenTransaction(producerId, epoch)) return undefined
    return { producerId, epoch }
  }

  /** Must be called before the coordinator is asked whether this log is part of the producer's transaction. */
  expect(sent: Buffer, producer: Identity, adds: boolean): void {
    this.#expected.add(producer, sent.readInt32BE(BASE_SEQUENCE_AT), adds)
  }

  /** Calls back at every change of the readable range or of the leader. @returns a function that ends this */
  onChange(callback: () => void): () => void {
    this.#waiters.add(callback)
    return () => this.#waiters.delete(callback)
  }

  changed(): void {
    for (const callback of [...this.#waiters]) callback()
  }

  /**
   * Appends a batch as a producer sent it.
   * @returns its first offset, also for a batch that the log already has
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
    const lastOffset = baseOffset + bytes.readInt32BE(LAST_OFFSET_DELTA_AT)
    this.#add({ baseOffset, lastOffset, bytes, producerId, producerEpoch: epoch, baseSequence: sequence, transactional, marker: undefined })
    return baseOffset
  }

  /**
   * Writes the end of a transaction. All replicas have it at once. A producer that was fenced meanwhile ends nothing.
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
   * Another broker becomes the leader. It has everything below the high watermark, and maybe a part of the rest.
   * @param isClean false for a broker that was not in sync, and may lack records below the high watermark
   */
  moveTo(leader: number, keepUpTo: number, isClean = true): void {
    while (this.end > (isClean ? Math.max(keepUpTo, this.highWatermark) : keepUpTo)) this.#batches.pop()
    this.leader = leader
    this.leaderEpoch++
    this.#epochs = [...this.#epochs.filter(({ start }) => start < this.end), { epoch: this.leaderEpoch, start: this.end }]
    const batches = this.#batches.splice(0)
    this.#producers = new Map()
    this.#expected = new ExpectedProducers()
    this.#aborted = []
    for (const batch of batches) this.#add(batch)
    // The new leader's log is what the replicas copy now.
    this.highWatermark = this.end
    this.changed()
  }

  /** @returns undefined when the epoch is later than the leader's */
  endOf(epoch: number): EpochEnd | undefined {
    if (epoch > this.leaderEpoch) return undefined
    if (epoch === this.leaderEpoch) return { epoch, offset: this.end }
    const next = this.#epochs.find((each) => each.epoch > epoch) as EpochStart
    return { epoch: this.#epochs.findLast((each) => each.epoch <= epoch)?.epoch ?? epoch, offset: next.start }
  }

  /** @returns whole batches from the one with the offset on, up to `limit` bytes but at least one batch */
  read(offset: number, below: number, limit: number): { readonly records: Buffer; readonly aborted: AbortedRange[] } {
    const found: Buffer[] = []
    let bytes = 0
    let last = offset - 1
    for (let at = this.#indexOf(offset); at < this.#batches.length; at++) {
      const batch = this.#batches[at]
      if (batch.lastOffset >= below || (bytes > 0 && bytes + batch.bytes.length > limit)) break
      found.push(batch.bytes)
      bytes += batch.bytes.length
      last = batch.lastOffset
    }
    return { records: Buffer.concat(found), aborted: this.#aborted.filter((range) => range.last >= offset && range.first <= last) }
  }

  #indexOf(offset: number): number {
    let low = 0
    let high = this.#batches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#batches[middle].lastOffset < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  #add(batch: Batch): void {
    this.#batches.push(batch)
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

function nextSequence(state: ProducerState, epoch: number): number {
  const last = state.epoch === epoch ? state.batches.at(-1) : undefined
  return last === undefined ? 0 : last.baseSequence + (last.lastOffset - last.baseOffset) + 1
}

/**
 * Length, attributes, two deltas, the key (version and type), the value (version and coordinator epoch), no headers.
 */
const MARKER_RECORD = Buffer.from([32, 0, 0, 0, 8, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0])
const MARKER_TYPE_AT = 8

function markerBytes(offset: number, leaderEpoch: number, producerId: number, producerEpoch: number, marker: 'commit' | 'abort'): Buffer {
  const bytes = Buffer.alloc(RECORDS_AT + MARKER_RECORD.length)
  writeInt64(bytes, 0, offset)
  bytes.writeInt32BE(bytes.length - LENGTH_PREFIX_BYTES, BATCH_LENGTH_AT)
  bytes.writeInt32BE(leaderEpoch, LEADER_EPOCH_AT)
  bytes[MAGIC_AT] = MAGIC_V2
  bytes.writeInt16BE(TRANSACTIONAL_BIT | CONTROL_BIT, ATTRIBUTES_AT)
  writeInt64(bytes, PRODUCER_ID_AT, producerId)
  bytes.writeInt16BE(producerEpoch, PRODUCER_EPOCH_AT)
  bytes.writeInt32BE(-1, BASE_SEQUENCE_AT)
  bytes.writeInt32BE(1, RECORD_COUNT_AT)
  MARKER_RECORD.copy(bytes, RECORDS_AT)
  bytes[RECORDS_AT + MARKER_TYPE_AT] = marker === 'commit' ? 1 : 0
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
  return bytes
}
