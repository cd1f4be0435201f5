import { randomBytes } from 'node:crypto'

/** Number of base62 characters in an id. There are 2 x 10^14 ids of this length: docs/services/snippets.md#ids */
const ID_LENGTH = 8
const BASE62 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
/**
 * Only bytes below this value are used. It is the largest multiple of 62 below 256, because any further bytes would
 * favour some characters.
 */
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
 * Generates an unpredictable id that `isWanted` accepts. If `isWanted` accepts only the ids of one partition, the
 * average number of attempts equals the number of partitions, and an attempt takes about a microsecond. With 32
 * partitions, there are 7 x 10^12 ids per partition.
 */
export function newSnippetId(isWanted: (id: string) => boolean): string {
  for (;;) {
    const id = randomId()
    if (isWanted(id)) return id
  }
}
