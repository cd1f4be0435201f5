import { hash } from 'node:crypto'

/** Two users, sorted by their ids as text. */
export interface Pair {
  readonly a: string
  readonly b: string
}

const SEPARATOR = ':'
/** Namespace of the UUIDs below, generated once at random. */
const NAMESPACE = Buffer.from('6f9c3a1e5b1d4c0f9a86d1f0c4e7b25a', 'hex')
/** The digit of a UUID that contains its version. */
const VERSION = '5'
/** The upper two bits of the digit that contains the variant. */
const VARIANT = 0x8

export function pairOf(one: string, other: string): Pair {
  return one < other ? { a: one, b: other } : { a: other, b: one }
}

/** Returns the key of a pair's records. The order of the two ids does not matter. */
export function pairKey(one: string, other: string): string {
  const { a, b } = pairOf(one, other)
  return a + SEPARATOR + b
}

/** Parses a key from `pairKey` into a pair. */
export function parsePairKey(key: string): Pair {
  const [a, b] = key.split(SEPARATOR)
  return { a, b }
}

/** Returns the id of the only match that two users can have. The order of the two ids does not matter. */
export function matchIdOf(one: string, other: string): string {
  return uuidV5(`match:${pairKey(one, other)}`)
}

export function conversationIdOf(one: string, other: string): string {
  return uuidV5(`conversation:${pairKey(one, other)}`)
}

/** Returns the id of a swipe. A repeated request gives the same id. */
export function swipeIdOf(userId: string, idempotencyKey: string): string {
  return uuidV5(`swipe:${userId}:${idempotencyKey}`)
}

/**
 * Returns the id of a rewind. The id is the same for a repeated request, and differs from the id of a swipe with the
 * same key.
 */
export function rewindIdOf(userId: string, idempotencyKey: string): string {
  return uuidV5(`rewind:${userId}:${idempotencyKey}`)
}

/** Returns a UUID of version 5 (RFC 9562, 5.5) in Millrace's namespace. */
function uuidV5(name: string): string {
  const hex = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(name)]), 'hex')
  const variant = ((Number.parseInt(hex[16], 16) & 0x3) | VARIANT).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${VERSION}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
