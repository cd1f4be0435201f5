import { byteWriter, type Codec, CodecError } from '../../../schemas/codec.ts'

/**
 * The rows of a seen-set store. Each page has one row with its content, and a second row through which the page is
 * found when its items may have expired. Rows of the second kind are sorted by the start that the page's newest run had
 * when the page was created or last checked, and have an empty value.
 */
export type SeenSetRow<K> =
  | { readonly kind: 'page'; readonly key: K; readonly page: number }
  | { readonly kind: 'due'; readonly start: number; readonly key: K; readonly page: number }
  /** A bound for scans, before the first due page with this start. It is never stored. */
  | { readonly kind: 'due-from'; readonly start: number }

const PAGE = 0x70
const DUE = 0x74
const KIND_BYTES = 1
/**
 * Size of the start of a run. It is stored as a big-endian double, because the bytes of non-negative doubles sort like
 * the numbers.
 */
const START_BYTES = 8
const KEY_LENGTH_BYTES = 2
const MAX_KEY_BYTES = 0xffff
const PAGE_BYTES = 2
/**
 * Initial size of the buffer for row keys. It suffices for the keys of most sets, and the buffer grows for longer keys.
 */
const FIRST_ROW_BYTES = 64

/**
 * Returns the codec of rows. The key of a page's row consists of the row's kind, the length of the set's key, that key,
 * and the page number, so that the pages of a set are adjacent.
 */
export function seenSetRows<K>(keys: Codec<K>): Codec<SeenSetRow<K>> {
  return {
    encode(row, out) {
      out.reserve(KIND_BYTES + START_BYTES + KEY_LENGTH_BYTES)
      out.buffer[out.length++] = row.kind === 'page' ? PAGE : DUE
      if (row.kind !== 'page') out.length = out.buffer.writeDoubleBE(row.start, out.length)
      if (row.kind === 'due-from') return
      const lengthAt = out.length
      out.length += KEY_LENGTH_BYTES
      keys.encode(row.key, out)
      const length = out.length - lengthAt - KEY_LENGTH_BYTES
      if (length > MAX_KEY_BYTES) throw new CodecError(`a key of a seen-set has ${length} bytes, but may have at most ${MAX_KEY_BYTES}`)
      out.buffer.writeUInt16BE(length, lengthAt)
      out.reserve(PAGE_BYTES)
      out.length = out.buffer.writeUInt16BE(row.page, out.length)
    },
    decode(buffer, start, end) {
      const isPage = buffer[start] === PAGE
      const keyAt = start + KIND_BYTES + (isPage ? 0 : START_BYTES) + KEY_LENGTH_BYTES
      const pageAt = end - PAGE_BYTES
      const key = keys.decode(buffer, keyAt, pageAt)
      const page = buffer.readUInt16BE(pageAt)
      return isPage ? { kind: 'page', key, page } : { kind: 'due', start: buffer.readDoubleBE(start + KIND_BYTES), key, page }
    },
  }
}

/** Returns the key prefix that the rows of all pages of a set share. */
export function pagesOfSet<K>(rows: Codec<SeenSetRow<K>>, key: K): Buffer {
  const first = byteWriter(FIRST_ROW_BYTES)
  rows.encode({ kind: 'page', key, page: 0 }, first)
  return first.buffer.subarray(0, first.length - PAGE_BYTES)
}
