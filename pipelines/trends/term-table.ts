import { byteWriter } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import { keyHash, utf8 } from '../engine/index.ts'
import { compareUtf8 } from './candidate.ts'

/** A term as bytes, which may be part of a record. */
export interface TermBytes {
  readonly record: Buffer
  readonly termStart: number
  readonly termEnd: number
  /** The `keyHash` of the term. */
  readonly hash: number
}

/** The bytes of a text. One object is reused for many texts. */
export class TextBytes implements TermBytes {
  readonly termStart = 0
  termEnd = 0
  hash = 0
  readonly #out = byteWriter()

  get record(): Buffer {
    return this.#out.buffer
  }

  of(text: string): this {
    this.#out.length = 0
    utf8.encode(text, this.#out)
    this.termEnd = this.#out.length
    this.hash = keyHash(this.#out.buffer, 0, this.termEnd)
    return this
  }
}

const FIRST_TERMS = 16
const FIRST_BYTES = 256
/** Number of slots per term. At most half of the slots are in use, so searches are short. */
const SLOTS_PER_TERM = 2
/** Number of integers per term: its hash, and the end of its bytes. */
const FIELDS = 2

/**
 * Numbers the terms of a region from 0. A worker has thousands of these tables. Each of them consists of only a few
 * objects, so the garbage collector spends no time on single terms. Terms are never removed; a smaller table replaces a
 * table in which most terms are no longer needed.
 */
export class TermTable {
  #count = 0
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #fields = new Int32Array(FIRST_TERMS * FIELDS)
  /** The numbers of the terms plus one. A 0 marks a free slot. */
  #slots = new Int32Array(FIRST_TERMS * SLOTS_PER_TERM)

  get count(): number {
    return this.#count
  }

  /** Returns the number of a term; -1 if the table does not have it. */
  find({ record, termStart, termEnd, hash }: TermBytes): number {
    const slots = this.#slots
    const fields = this.#fields
    const mask = slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const term = slots[slot] - 1
      if (term < 0 || (fields[term * FIELDS] === hash && this.#is(term, record, termStart, termEnd))) return term
    }
  }

  #is(term: number, record: Buffer, start: number, end: number): boolean {
    let at = this.#start(term)
    if (this.#end(term) - at !== end - start) return false
    const bytes = this.#bytes
    for (let i = start; i < end; i++, at++) if (bytes[at] !== record[i]) return false
    return true
  }

  #start(term: number): number {
    return term === 0 ? 0 : this.#fields[term * FIELDS - 1]
  }

  #end(term: number): number {
    return this.#fields[term * FIELDS + 1]
  }

  /** Returns the number of a term. Adds the term if the table does not have it. */
  add(bytes: TermBytes): number {
    const known = this.find(bytes)
    if (known >= 0) return known
    const { record, termStart, termEnd, hash } = bytes
    if ((this.#count + 1) * SLOTS_PER_TERM > this.#slots.length) this.#grow()
    const term = this.#count++
    const from = this.#start(term)
    const to = from + termEnd - termStart
    if (to > this.#bytes.length) this.#bytes = grown(this.#bytes, from, to)
    copyBytes(record, termStart, termEnd, this.#bytes, from)
    this.#fields[term * FIELDS] = hash
    this.#fields[term * FIELDS + 1] = to
    this.#take(hash, term)
    return term
  }

  text(term: number): string {
    return this.#bytes.toString('utf8', this.#start(term), this.#end(term))
  }

  /** Returns the bytes of a term. They are part of the table, and valid until the next term is added. */
  bytesOf(term: number): TermBytes {
    return { record: this.#bytes, termStart: this.#start(term), termEnd: this.#end(term), hash: this.#fields[term * FIELDS] }
  }

  /** Compares the texts of two terms in the order of JavaScript strings. */
  compare(a: number, b: number): number {
    const bytes = this.#bytes
    return compareUtf8(bytes, this.#start(a), this.#end(a), bytes, this.#start(b), this.#end(b))
  }

  #take(hash: number, term: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = hash & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = term + 1
  }

  #grow(): void {
    const fields = new Int32Array(this.#fields.length * 2)
    fields.set(this.#fields)
    this.#fields = fields
    this.#slots = new Int32Array(this.#slots.length * 2)
    for (let term = 0; term < this.#count; term++) this.#take(fields[term * FIELDS], term)
  }
}

function grown(bytes: Buffer, used: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
