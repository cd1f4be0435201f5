import { randomBytes } from 'node:crypto'

/** 2 x 10^14 ids of base62 characters: docs/services/snippets.md#ids */
const ID_LENGTH = 8
const BASE62 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
/** The greatest multiple of 62 below 256: bytes above it would make some characters likelier. */
const FAIR_BELOW = 248
const ID = /^[0-9A-Za-z]{8}$/

export function isSnippetId(text: string): boolean {
  return ID.test(text)
}

function randomId(): string {
  let id = ''
  while (id.length < ID_LENGTH) {
    for (const byte of randomBytes(ID_LENGTH)) {
      if (byte < FAIR_BELOW && id.length < ID_LENGTH) id += BASE62[byte % BASE62.length]
    }
  }
  return id
}

/**
 * An id that nobody can tell in advance, in the partition wanted. It takes as many tries as there are partitions, a microsecond each, and
 * leaves an id of 32 partitions 1 of 6 x 10^12.
 */
export function newSnippetId(isWanted: (id: string) => boolean): string {
  for (;;) {
    const id = randomId()
    if (isWanted(id)) return id
  }
}
