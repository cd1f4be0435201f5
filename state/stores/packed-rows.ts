import { randomInt } from 'node:crypto'
import { copyBytes } from '../../schemas/copy-bytes.ts'

/** A range of bytes in a buffer. */
export interface ByteSpan {
  buffer: Buffer
  start: number
  end: number
}

const FIRST_BYTES = 16_384
const FIRST_ROWS = 256
/**
 * Number of integers that are stored per row: the hash of its key, and the positions at which key and value begin and
 * end.
 */
const FIELDS = 5
const KEY_START = 1
const KEY_END = 2
const VALUE_START = 3
const VALUE_END = 4
/** Stored instead of the start and the end of a value if the row has no value. */
const NO_VALUE = -1
/** Number of slots per row. At most half of the slots are in use, so searches are short. */
const SLOTS_PER_ROW = 2
const ROW_BYTES = 4 * (FIELDS + SLOTS_PER_ROW)
/** A table counts as hardly used if its rows fill less than 1/`SMALL_USE` of its memory. */
const SMALL_USE = 4
/**
 * A table returns memory if it was hardly used before each of this many consecutive clears. If tables never returned
 * memory, a burst, such as a backlog or the first trend lists after a start, would leave large tables in every store
 * and partition forever. At one commit per second, this number covers two renewals of the trends, so a table does not
 * shrink after one renewal only to grow at the next.
 */
const USES_BEFORE_SHRINKING = 64
/** Size in bytes below which a table keeps its memory. */
const MIN_SHRUNK_BYTES = 262_144
/**
 * The secret value from which every hash starts. A client that knows this value can choose keys with equal hashes, and
 * thus make searches slow.
 */
const SEED = randomInt(2 ** 32)
const FNV_PRIME = 0x01000193
/** Rows are sorted by 53-bit integers: four bytes of the key, and a row number in the other 21 bits. */
const MAX_SORTED_ROWS = 2 ** 21

/**
 * Hashes the bytes with FNV-1a, and mixes the bits with the final step of MurmurHash3. The result differs in each
 * process.
 */
export function keyHash(buffer: Uint8Array, start: number, end: number): number {
  let hash = SEED
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ buffer[at], FNV_PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/**
 * A hash table of rows whose keys and values are bytes of one buffer. There is no object per row, so the garbage
 * collector has nothing to visit or to move, regardless of the number of rows. When the table is cleared, it keeps its
 * memory for further rows, unless it has hardly been used for some time.
 *
 * Rows have numbers from 0. A value that is replaced leaves its bytes behind until the table needs more memory or is
 * cleared.
 */
export class PackedRows {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #used = 0
  /** Number of bytes of replaced and removed values. */
  #replaced = 0
  #count = 0
  #fields = new Int32Array(FIRST_ROWS * FIELDS)
  /** Row numbers plus one, so that 0 is a free slot. */
  #slots = new Int32Array(FIRST_ROWS * SLOTS_PER_ROW)
  /**
   * Number of consecutive clears at which the table was hardly used, and the most bytes and rows that it contained at
   * any of them.
   */
  #smallUses = 0
  #smallBytes = 0
  #smallCount = 0

  get count(): number {
    return this.#count
  }

  /** The number of bytes of all keys and values, including replaced values. */
  get bytes(): number {
    return this.#used
  }

  /** The number of bytes of all keys and their current values. */
  get currentBytes(): number {
    return this.#used - this.#replaced
  }

  /** The memory that the rows take, in bytes. */
  get size(): number {
    return this.#used + this.#count * ROW_BYTES
  }

  /** Memory that the table has allocated, in bytes. */
  get capacity(): number {
    return this.#bytes.length + this.#fields.byteLength + this.#slots.byteLength
  }

  get buffer(): Buffer {
    return this.#bytes
  }

  /** Returns the row of a key; -1 if there is none. */
  find(key: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.#slots
    const fields = this.#fields
    const mask = slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = slots[slot] - 1
      if (row < 0) return -1
      const at = row * FIELDS
      if (fields[at] === hash && this.#isKey(fields[at + KEY_START], fields[at + KEY_END], key, start, end)) return row
    }
  }

  #isKey(from: number, to: number, key: Uint8Array, start: number, end: number): boolean {
    if (to - from !== end - start) return false
    const bytes = this.#bytes
    for (let at = start; at < end; at++, from++) if (bytes[from] !== key[at]) return false
    return true
  }

  /** Returns the row of a key. Adds the key, without a value, if it is not in the table. */
  findOrAdd(key: Uint8Array, start: number, end: number, hash: number): number {
    const row = this.find(key, start, end, hash)
    return row < 0 ? this.add(key, start, end, hash) : row
  }

  /** Adds a key that is not in the table, without a value. Returns its row. */
  add(key: Uint8Array, start: number, end: number, hash: number): number {
    if ((this.#count + 1) * SLOTS_PER_ROW > this.#slots.length) this.#grow()
    const from = this.#append(key, start, end)
    const row = this.#count++
    const at = row * FIELDS
    this.#fields[at] = hash
    this.#fields[at + KEY_START] = from
    this.#fields[at + KEY_END] = this.#used
    this.#fields[at + VALUE_START] = NO_VALUE
    this.#fields[at + VALUE_END] = NO_VALUE
    this.#take(hash, row)
    return row
  }

  /** Sets the value of a row. The bytes may belong to another row of this table. */
  setValue(row: number, value: Uint8Array, start: number, end: number): void {
    const at = row * FIELDS
    // The bytes are copied before the fields of the row change, because `#append` may move the values of all rows.
    const from = this.#append(value, start, end)
    this.#replaced += this.#fields[at + VALUE_END] - this.#fields[at + VALUE_START]
    this.#fields[at + VALUE_START] = from
    this.#fields[at + VALUE_END] = this.#used
  }

  removeValue(row: number): void {
    const at = row * FIELDS
    this.#replaced += this.#fields[at + VALUE_END] - this.#fields[at + VALUE_START]
    this.#fields[at + VALUE_START] = NO_VALUE
    this.#fields[at + VALUE_END] = NO_VALUE
  }

  hasValue(row: number): boolean {
    return this.#fields[row * FIELDS + VALUE_START] !== NO_VALUE
  }

  hashOf(row: number): number {
    return this.#fields[row * FIELDS]
  }

  keyStart(row: number): number {
    return this.#fields[row * FIELDS + KEY_START]
  }

  keyEnd(row: number): number {
    return this.#fields[row * FIELDS + KEY_END]
  }

  valueStart(row: number): number {
    return this.#fields[row * FIELDS + VALUE_START]
  }

  valueEnd(row: number): number {
    return this.#fields[row * FIELDS + VALUE_END]
  }

  /**
   * Returns the numbers of the rows, sorted by the four bytes of each key that follow the prefix that all keys share.
   * If there are too many rows to sort, they stay in insertion order. Inserting neighbouring keys one after another
   * halves the work of the database. Nothing depends on a more precise order.
   */
  roughlySorted(): Float64Array {
    const rows = new Float64Array(this.#count)
    if (this.#count > MAX_SORTED_ROWS) {
      for (let row = 0; row < rows.length; row++) rows[row] = row
      return rows
    }
    const skipped = this.#commonPrefix()
    for (let row = 0; row < rows.length; row++) rows[row] = this.#firstBytes(row, skipped) * MAX_SORTED_ROWS + row
    rows.sort()
    for (let i = 0; i < rows.length; i++) rows[i] %= MAX_SORTED_ROWS
    return rows
  }

  /** Returns the length of the prefix that all keys share, in bytes. */
  #commonPrefix(): number {
    const bytes = this.#bytes
    const first = this.keyStart(0)
    let common = this.#count === 0 ? 0 : this.keyEnd(0) - first
    for (let row = 1; row < this.#count && common > 0; row++) {
      const start = this.keyStart(row)
      const length = Math.min(common, this.keyEnd(row) - start)
      common = 0
      while (common < length && bytes[start + common] === bytes[first + common]) common++
    }
    return common
  }

  #firstBytes(row: number, skipped: number): number {
    const start = this.keyStart(row) + skipped
    const length = this.keyEnd(row) - start
    let first = 0
    for (let i = 0; i < 4; i++) first = first * 256 + (i < length ? this.#bytes[start + i] : 0)
    return first
  }

  clear(): void {
    const isSmall = this.#used * SMALL_USE < this.#bytes.length && this.#count * SMALL_USE < this.#fields.length / FIELDS
    if (isSmall && this.capacity > MIN_SHRUNK_BYTES) {
      this.#smallUses++
      this.#smallBytes = Math.max(this.#smallBytes, this.#used)
      this.#smallCount = Math.max(this.#smallCount, this.#count)
    } else this.#forgetUses()
    this.#used = 0
    this.#replaced = 0
    this.#count = 0
    if (this.#smallUses < USES_BEFORE_SHRINKING) this.#slots.fill(0)
    else this.#shrink()
  }

  #forgetUses(): void {
    this.#smallUses = 0
    this.#smallBytes = 0
    this.#smallCount = 0
  }

  /** Keeps twice the memory that the largest recent use needed. */
  #shrink(): void {
    const rows = 2 ** Math.ceil(Math.log2(Math.max(FIRST_ROWS, 2 * this.#smallCount)))
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.#smallBytes))
    this.#fields = new Int32Array(rows * FIELDS)
    this.#slots = new Int32Array(rows * SLOTS_PER_ROW)
    this.#forgetUses()
  }

  /** @returns the position of the appended bytes */
  #append(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start
    if (this.#used + length > this.#bytes.length) this.#makeRoom(length)
    const from = this.#used
    this.#used = copyBytes(bytes, start, end, this.#bytes, from)
    return from
  }

  /**
   * Moves the rows to a larger buffer. If replaced values take more than half of the memory, they are left out, and the
   * new buffer need not be larger. A frequent key can be changed so often between two clears that its old values would
   * otherwise fill the memory.
   */
  #makeRoom(length: number): void {
    const isMostlyReplaced = 2 * this.#replaced > this.#used
    const old = this.#bytes
    const kept = isMostlyReplaced ? this.currentBytes : this.#used
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(kept + length, isMostlyReplaced ? old.length : old.length * 2))
    if (!isMostlyReplaced) {
      old.copy(this.#bytes, 0, 0, kept)
      return
    }
    this.#used = 0
    this.#replaced = 0
    for (let at = 0; at < this.#count * FIELDS; at += FIELDS) {
      this.#move(old, at + KEY_START)
      if (this.#fields[at + VALUE_START] !== NO_VALUE) this.#move(old, at + VALUE_START)
    }
  }

  /** Moves the bytes from `old` whose start is in this field and whose end is in the next field. */
  #move(old: Buffer, field: number): void {
    const start = this.#used
    this.#used += old.copy(this.#bytes, start, this.#fields[field], this.#fields[field + 1])
    this.#fields[field] = start
    this.#fields[field + 1] = this.#used
  }

  #take(hash: number, row: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = hash & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = row + 1
  }

  #grow(): void {
    const fields = new Int32Array(this.#fields.length * 2)
    fields.set(this.#fields)
    this.#fields = fields
    this.#slots = new Int32Array(this.#slots.length * 2)
    for (let row = 0; row < this.#count; row++) this.#take(fields[row * FIELDS], row)
  }
}
