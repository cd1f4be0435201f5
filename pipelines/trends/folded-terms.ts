import { byteWriter } from '../../schemas/codec.ts'
import { utf8 } from '../../schemas/keys.ts'
import { foldTerm, MAX_TERM_CODE_POINTS } from '../../schemas/trends/term.ts'
import { fingerprintOf, fingerprintOfAscii } from './term-fingerprint.ts'
import { eachTerm, type TweetBytes } from './tweet-bytes.ts'

/**
 * Maximum number of terms per tweet. A tweet has room for a few hundred n-grams. More terms indicate a bug in the
 * producer or an attack, and each term takes up state in three regions.
 */
const MAX_TERMS_PER_TWEET = 500
/**
 * Spellings with more bytes are folded as text, by a slower function. That function also decides whether they are
 * terms.
 */
const MAX_FOLDED_AS_BYTES = 4 * MAX_TERM_CODE_POINTS
const SPACE = 0x20
const HASH = 0x23
const UPPER_A = 0x41
const UPPER_Z = 0x5a
const TO_LOWER = 0x20
const TILDE = 0x7e

/** A distinct term of a tweet, and its first spelling. */
export interface FoldedTerm {
  /** Position of the folded term in `FoldedTerms.buffer`. */
  start: number
  end: number
  /** Position of the first spelling in the bytes of the tweet. */
  originalStart: number
  originalEnd: number
  fingerprint: number
}

/** The distinct terms of one tweet at a time, folded in one buffer. The same objects are reused for all tweets. */
export class FoldedTerms {
  readonly #out = byteWriter()
  readonly #terms: FoldedTerm[] = []
  count = 0

  get buffer(): Buffer {
    return this.#out.buffer
  }

  /** @param index less than `count` */
  at(index: number): Readonly<FoldedTerm> {
    return this.#terms[index]
  }

  /** Folds the terms of a tweet in the same way as `foldTerm`. The result is valid until the next call. */
  read(tweet: TweetBytes): void {
    this.#out.length = 0
    this.count = 0
    eachTerm(tweet, (start, end) => {
      if (this.count < MAX_TERMS_PER_TWEET) this.#add(tweet.buffer, start, end)
    })
  }

  #add(bytes: Buffer, originalStart: number, originalEnd: number): void {
    const out = this.#out
    const start = out.length
    const fingerprint = this.#foldAscii(bytes, originalStart, originalEnd) ?? this.#foldText(bytes, originalStart, originalEnd)
    if (out.length === start || this.#has(fingerprint, start, out.length)) {
      out.length = start
      return
    }
    if (this.count === this.#terms.length) this.#terms.push({ start: 0, end: 0, originalStart: 0, originalEnd: 0, fingerprint: 0 })
    const term = this.#terms[this.count++]
    term.start = start
    term.end = out.length
    term.originalStart = originalStart
    term.originalEnd = originalEnd
    term.fingerprint = fingerprint
  }

  /**
   * Appends the folded spelling if it is a term.
   * @returns the fingerprint of the bytes that were appended; undefined if this function cannot fold the spelling,
   * because it is too long or not printable ASCII
   */
  #foldAscii(bytes: Buffer, start: number, end: number): number | undefined {
    if (end - start > MAX_FOLDED_AS_BYTES) return undefined
    let from = start
    let to = end
    while (from < to && (bytes[from] === SPACE || bytes[from] === HASH)) from++
    while (to > from && bytes[to - 1] === SPACE) to--
    const out = this.#out
    out.reserve(to - from)
    const { buffer } = out
    const first = out.length
    let at = first
    for (let i = from; i < to; i++) {
      const byte = bytes[i]
      if (byte < SPACE || byte > TILDE) return undefined
      buffer[at++] = byte >= UPPER_A && byte <= UPPER_Z ? byte + TO_LOWER : byte
    }
    if (at - first <= MAX_TERM_CODE_POINTS) out.length = at
    return fingerprintOfAscii(buffer, first, out.length)
  }

  #foldText(bytes: Buffer, start: number, end: number): number {
    const term = foldTerm(bytes.toString('utf8', start, end))
    if (term === undefined) return 0
    utf8.encode(term, this.#out)
    return fingerprintOf(term)
  }

  #has(fingerprint: number, start: number, end: number): boolean {
    for (let i = 0; i < this.count; i++) {
      const term = this.#terms[i]
      if (term.fingerprint === fingerprint && this.buffer.compare(this.buffer, term.start, term.end, start, end) === 0) return true
    }
    return false
  }
}
