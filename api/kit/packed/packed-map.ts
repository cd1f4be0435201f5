import type { Hash128 } from './sip-hash.ts'

export interface PackedLayout {
  /** Number of bytes of a value; 0 if only the presence of an entry matters. */
  readonly valueBytes: number
  /** Whether entries can expire. An expiry takes four bytes per slot. */
  readonly canExpire: boolean
}

/** Value of `expiry` for an entry that never expires. */
export const NEVER = 0

/**
 * Number of segments. Each segment grows on its own. A table of five million entries therefore grows with a thousand
 * pauses of a fraction of a millisecond, instead of a single pause of a second.
 */
const SEGMENTS = 1_024
const SEGMENT_SHIFT = 22
const HASH_WORDS = 4
const HASH_BYTES = 16
const EXPIRY_BYTES = 4
const MIN_SLOTS = 8
/** Load factor above which a segment grows. With a higher load factor, chains of adjacent entries would get long. */
const MAX_LOAD = 0.75
/**
 * Load factor below which a segment shrinks. It is far below 0.5, the load factor after a resize, so that a segment
 * that has just grown does not soon shrink.
 */
const MIN_LOAD = 0.2
const GROWTH = 1.5
/**
 * How long ago an entry must have expired to be left out when entries are copied. The clock of this machine may be
 * ahead and may be set back later, for example soon after the start of the machine. Until the process is restarted,
 * nothing would restore an entry that was left out by mistake.
 */
const KEPT_EXPIRED_SECONDS = 86_400
const UINT32_RANGE = 2 ** 32
/**
 * Value that replaces a first word of 0, because 0 marks an empty slot. Two different hashes become equal only if their
 * first words are 0 and 1 and their other words are equal.
 */
const INSTEAD_OF_EMPTY = 1

/**
 * A hash table for millions of small entries. Keys are hashes of 128 bits, and there is no object per entry. The table
 * uses open addressing with linear probing. Deleting an entry leaves no tombstone: entries behind it in its chain may
 * move up. The number of changes therefore affects neither lookup time nor memory.
 */
export class PackedMap {
  readonly layout: PackedLayout
  /** Contains no segment without entries, because a snapshot ends at its first block without entries. */
  readonly #segments: (Segment | undefined)[] = Array.from({ length: SEGMENTS }, () => undefined)

  constructor(layout: PackedLayout) {
    this.layout = layout
  }

  /** Number of entries, including expired ones that are still stored. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.count ?? 0), 0)
  }

  /** Size of all slots in bytes, whether or not they are used. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0)
  }

  get segments(): number {
    return SEGMENTS
  }

  /**
   * Looks up an entry.
   * @param nowSeconds epoch seconds
   * @returns the result of `read` for the value; undefined if there is no entry or it has expired
   */
  get<T>(hash: Hash128, nowSeconds: number, read: (view: DataView, at: number) => T): T | undefined {
    const segment = this.#segments[segmentOf(hash)]
    if (segment === undefined) return undefined
    const slot = segment.find(hash)
    if (slot < 0 || segment.hasExpired(slot, nowSeconds)) return undefined
    return read(segment.values, slot * this.layout.valueBytes)
  }

  /**
   * Adds or replaces an entry.
   * @param value buffer that contains the bytes of the value from position `at`
   * @param expiry epoch seconds at which the entry expires, or `NEVER`
   */
  set(hash: Hash128, value: Uint8Array, at: number, expiry: number, nowSeconds: number): void {
    const index = segmentOf(hash)
    let segment = this.#segments[index]
    if (segment === undefined || (segment.isFull && segment.find(hash) < 0)) {
      segment = resized(segment, this.layout, nowSeconds)
      this.#segments[index] = segment
    }
    segment.set(hash, value, at, expiry)
  }

  delete(hash: Hash128, nowSeconds: number): void {
    const index = segmentOf(hash)
    const segment = this.#segments[index]
    if (segment === undefined) return
    segment.delete(hash)
    const kept = segment.isSparse ? resized(segment, this.layout, nowSeconds) : segment
    this.#segments[index] = kept.count === 0 ? undefined : kept
  }

  /**
   * Returns the entries of one segment; undefined if the segment is empty. Each entry consists of its hash, its expiry
   * (if entries can expire) and its value.
   */
  packed(index: number): Buffer | undefined {
    return this.#segments[index]?.packed()
  }

  /** Adds the entries that `packed` returned for one segment. Entries that expired long ago are left out. */
  addPacked(bytes: Buffer, nowSeconds: number): void {
    const { valueBytes, canExpire } = this.layout
    const hash = new Int32Array(HASH_WORDS)
    const entryBytes = packedBytes(this.layout)
    if (bytes.length < entryBytes) return
    const index = bytes.readInt32LE(HASH_BYTES - 4) >>> SEGMENT_SHIFT
    this.#reserve(index, bytes.length / entryBytes)
    for (let at = 0; at + entryBytes <= bytes.length; at += entryBytes) {
      for (let word = 0; word < HASH_WORDS; word++) hash[word] = bytes.readInt32LE(at + word * 4)
      const expiry = canExpire ? bytes.readUInt32LE(at + HASH_BYTES) : NEVER
      if (expiry !== NEVER && expiry <= nowSeconds - KEPT_EXPIRED_SECONDS) continue
      this.set(hash, bytes, at + entryBytes - valueBytes, expiry, nowSeconds)
    }
    if (this.#segments[index]?.count === 0) this.#segments[index] = undefined
  }

  /**
   * Creates the segment if it does not exist, with room for this many entries. Growing step by step would copy each
   * entry several times.
   */
  #reserve(index: number, entries: number): void {
    this.#segments[index] ??= new Segment(this.layout, slotsFor(entries))
  }
}

/** Returns the size in bytes of one entry in the result of `packed`. */
export function packedBytes({ valueBytes, canExpire }: PackedLayout): number {
  return HASH_BYTES + (canExpire ? EXPIRY_BYTES : 0) + valueBytes
}

/**
 * Returns the segment of a hash. The last word of the hash determines the segment, and the first word determines the
 * slot in the segment.
 */
function segmentOf(hash: Hash128): number {
  return hash[3] >>> SEGMENT_SHIFT
}

/** Copies a segment to a new segment with room to grow. Entries that expired long ago are left out. */
function resized(old: Segment | undefined, layout: PackedLayout, nowSeconds: number): Segment {
  if (old === undefined) return new Segment(layout, MIN_SLOTS)
  const expiredAfter = nowSeconds - KEPT_EXPIRED_SECONDS
  const segment = new Segment(layout, slotsFor(old.countLive(expiredAfter)))
  old.copyLive(segment, expiredAfter)
  return segment
}

function slotsFor(entries: number): number {
  return Math.max(MIN_SLOTS, Math.ceil((entries / MAX_LOAD) * GROWTH))
}

class Segment {
  readonly slots: number
  readonly bytes: number
  readonly values: DataView
  count = 0
  readonly #layout: PackedLayout
  readonly #hashes: Int32Array
  readonly #expiries: Uint32Array | undefined
  readonly #valueBytes: Uint8Array

  constructor(layout: PackedLayout, slots: number) {
    const { valueBytes, canExpire } = layout
    this.#layout = layout
    this.slots = slots
    this.bytes = slots * packedBytes(layout)
    const buffer = new ArrayBuffer(this.bytes)
    const valuesAt = slots * (HASH_BYTES + (canExpire ? EXPIRY_BYTES : 0))
    this.#hashes = new Int32Array(buffer, 0, slots * HASH_WORDS)
    this.#expiries = canExpire ? new Uint32Array(buffer, slots * HASH_BYTES, slots) : undefined
    this.#valueBytes = new Uint8Array(buffer, valuesAt, slots * valueBytes)
    this.values = new DataView(buffer, valuesAt, slots * valueBytes)
  }

  get isFull(): boolean {
    return this.count + 1 > this.slots * MAX_LOAD
  }

  get isSparse(): boolean {
    return this.slots > MIN_SLOTS && this.count < this.slots * MIN_LOAD
  }

  hasExpired(slot: number, nowSeconds: number): boolean {
    const expiry = this.#expiries === undefined ? NEVER : this.#expiries[slot]
    return expiry !== NEVER && expiry <= nowSeconds
  }

  /**
   * Returns the slot of an entry. If the entry is missing, returns the bitwise complement of the empty slot at the end
   * of its chain.
   */
  find(hash: Hash128): number {
    const hashes = this.#hashes
    const first = firstWord(hash)
    let slot = this.#homeOf(first)
    for (;;) {
      const at = slot * HASH_WORDS
      const word = hashes[at]
      if (word === 0) return ~slot
      if (word === first && hashes[at + 1] === hash[1] && hashes[at + 2] === hash[2] && hashes[at + 3] === hash[3]) return slot
      slot = slot + 1 === this.slots ? 0 : slot + 1
    }
  }

  set(hash: Hash128, value: Uint8Array, valueAt: number, expiry: number): void {
    const found = this.find(hash)
    const slot = found < 0 ? ~found : found
    if (found < 0) {
      this.count++
      const at = slot * HASH_WORDS
      this.#hashes[at] = firstWord(hash)
      for (let word = 1; word < HASH_WORDS; word++) this.#hashes[at + word] = hash[word]
    }
    if (this.#expiries !== undefined) this.#expiries[slot] = expiry
    const { valueBytes } = this.#layout
    for (let index = 0; index < valueBytes; index++) this.#valueBytes[slot * valueBytes + index] = value[valueAt + index]
  }

  delete(hash: Hash128): void {
    let hole = this.find(hash)
    if (hole < 0) return
    this.count--
    for (let slot = this.#next(hole); this.#hashes[slot * HASH_WORDS] !== 0; slot = this.#next(slot)) {
      const home = this.#homeOf(this.#hashes[slot * HASH_WORDS])
      // If the home slot of an entry is cyclically after the hole, a lookup of the entry does not pass the hole. Such
      // an entry need not move.
      const staysBehind = hole < slot ? home > hole && home <= slot : home > hole || home <= slot
      if (staysBehind) continue
      this.#move(slot, hole)
      hole = slot
    }
    this.#hashes[hole * HASH_WORDS] = 0
  }

  countLive(nowSeconds: number): number {
    let live = 0
    for (let slot = 0; slot < this.slots; slot++) if (this.#isLive(slot, nowSeconds)) live++
    return live
  }

  copyLive(into: Segment, nowSeconds: number): void {
    const { valueBytes } = this.#layout
    for (let slot = 0; slot < this.slots; slot++) {
      if (!this.#isLive(slot, nowSeconds)) continue
      const hash = this.#hashes.subarray(slot * HASH_WORDS, (slot + 1) * HASH_WORDS)
      into.set(hash, this.#valueBytes, slot * valueBytes, this.#expiries === undefined ? NEVER : this.#expiries[slot])
    }
  }

  packed(): Buffer {
    const { valueBytes } = this.#layout
    const out = Buffer.allocUnsafe(this.count * packedBytes(this.#layout))
    let at = 0
    for (let slot = 0; slot < this.slots; slot++) {
      if (this.#hashes[slot * HASH_WORDS] === 0) continue
      for (let word = 0; word < HASH_WORDS; word++) at = out.writeInt32LE(this.#hashes[slot * HASH_WORDS + word], at)
      if (this.#expiries !== undefined) at = out.writeUInt32LE(this.#expiries[slot], at)
      for (let index = 0; index < valueBytes; index++) out[at++] = this.#valueBytes[slot * valueBytes + index]
    }
    return out
  }

  #isLive(slot: number, nowSeconds: number): boolean {
    return this.#hashes[slot * HASH_WORDS] !== 0 && !this.hasExpired(slot, nowSeconds)
  }

  #homeOf(first: number): number {
    return Math.floor(((first >>> 0) / UINT32_RANGE) * this.slots)
  }

  #next(slot: number): number {
    return slot + 1 === this.slots ? 0 : slot + 1
  }

  #move(from: number, to: number): void {
    const { valueBytes } = this.#layout
    this.#hashes.copyWithin(to * HASH_WORDS, from * HASH_WORDS, (from + 1) * HASH_WORDS)
    if (this.#expiries !== undefined) this.#expiries[to] = this.#expiries[from]
    this.#valueBytes.copyWithin(to * valueBytes, from * valueBytes, (from + 1) * valueBytes)
  }
}

function firstWord(hash: Hash128): number {
  return hash[0] === 0 ? INSTEAD_OF_EMPTY : hash[0]
}
