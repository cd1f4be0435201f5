import { createHash, randomBytes } from 'node:crypto'

/** Decisions, C: 8 base62 characters, 2 x 10^14 ids. */
const ID_LENGTH = 8
const BASE62 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
/** The greatest multiple of 62 below 256: bytes above it would make some characters likelier. */
const FAIR_BELOW = 248
const ID = /^[0-9A-Za-z]{8}$/

export function isSnippetId(text: string): boolean {
  return ID.test(text)
}

/** @param bytes random ones, as many as are asked for */
function idFrom(bytes: (count: number) => Uint8Array): string {
  let id = ''
  while (id.length < ID_LENGTH) {
    for (const byte of bytes(ID_LENGTH)) {
      if (byte < FAIR_BELOW && id.length < ID_LENGTH) id += BASE62[byte % BASE62.length]
    }
  }
  return id
}

/**
 * An id that lies in the partition wanted: all snippets of a user share one, so that they and the user's lists change in one step. It takes
 * as many tries as there are partitions, a microsecond each, and leaves an id of 32 partitions 1 of 6 x 10^12.
 * @param seed undefined: random; given: the same id for the same seed
 */
export function newSnippetId(isWanted: (id: string) => boolean, seed?: string): string {
  let round = 0
  const bytes = seed === undefined ? randomBytes : () => createHash('sha256').update(`${seed}:${round++}`).digest()
  for (;;) {
    const id = idFrom(bytes)
    if (isWanted(id)) return id
  }
}
