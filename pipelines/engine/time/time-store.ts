import type { ByteWriter, Codec } from '../../../schemas/codec.ts'
import { CodecError } from '../../../schemas/codec.ts'
import type { ValueFormat } from '../../../schemas/topic.ts'
import type { EngineStore, StateColumn, StoreContext } from '../../../state/stores/store.ts'

/**
 * Size of a stored number. Epoch milliseconds and counts are stored as big-endian doubles, which are exact up to 2^53.
 */
const NUMBER_BYTES = 8

const numberCodec: Codec<number> = {
  encode(value: number, out: ByteWriter) {
    out.reserve(NUMBER_BYTES)
    out.buffer.writeDoubleBE(value, out.length)
    out.length += NUMBER_BYTES
  },
  decode(buffer, start, end) {
    if (end - start !== NUMBER_BYTES) throw new CodecError(`a number has ${NUMBER_BYTES} bytes, not ${end - start}`)
    return buffer.readDoubleBE(start)
  },
}

const numberFormat: ValueFormat<number> = { schema: undefined, open: () => numberCodec }

/**
 * A small store for the few numbers that the engine itself needs, keyed by name, such as received markers and the
 * closed time. The numbers are stored and restored like other state.
 */
export interface TimeStore extends EngineStore {
  get(key: string): number | undefined
  put(key: string, value: number): void
  delete(key: string): void
  keys(): Iterable<string>
}

/**
 * Creates a time store. All entries are in memory: mainly the last marker of each upstream partition, and the numbers
 * of markers for times that are not closed yet.
 */
export function timeStore(name: string): TimeStore {
  const entries = new Map<string, number>()
  /**
   * Keys that have changed since the last flush. A flush removes the keys that it writes, because they may change again
   * while the commit is running.
   */
  const dirty = new Set<string>()
  const bytes = Buffer.alloc(NUMBER_BYTES)
  let column: StateColumn | undefined

  function load(): void {
    entries.clear()
    dirty.clear()
    for (const [key, value] of column?.scan({}) ?? []) entries.set(key.toString('utf8'), value.readDoubleBE(0))
  }

  return {
    name,
    values: numberFormat as ValueFormat<unknown>,
    logged: true,
    open(context: StoreContext) {
      column = context.column
      load()
    },
    prefetchFor() {},
    loadPrefetched: () => 0,
    get dirtyKeys() {
      return dirty.size
    },
    get dirtyBytes() {
      return dirty.size * NUMBER_BYTES
    },
    flush(changelog) {
      for (const name of dirty) {
        const key = Buffer.from(name, 'utf8')
        const number = entries.get(name)
        const value = number === undefined ? null : bytes
        if (number !== undefined) bytes.writeDoubleBE(number, 0)
        changelog?.append(key, 0, key.length, value, 0, value === null ? 0 : NUMBER_BYTES)
        column?.put(key, 0, key.length, value, 0, value === null ? 0 : NUMBER_BYTES)
      }
      dirty.clear()
    },
    committed() {},
    discard: load,
    get: (key) => entries.get(key),
    put(key, value) {
      entries.set(key, value)
      dirty.add(key)
    },
    delete(key) {
      if (entries.delete(key)) dirty.add(key)
    },
    keys: () => entries.keys(),
  }
}
