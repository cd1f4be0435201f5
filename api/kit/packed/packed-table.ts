import { randomBytes } from 'node:crypto'
import { byteWriter } from '../../../schemas/codec.ts'
import { recordApplier, recordValue } from '../record-values.ts'
import { notLoaded, snapshotTable, type TableOptions, type TableState } from '../snapshots/snapshot-table.ts'
import { NEVER, PackedMap } from './packed-map.ts'
import { SIP_KEY_BYTES, sipHash128 } from './sip-hash.ts'
import { readSnapshot, type SnapshotForm, writeSnapshot } from './snapshot.ts'

/** Describes how a topic's values are packed into a few bytes. */
export interface Packing<V, P> {
  /**
   * Version of the packed bytes. Increase the version when the meaning of the bytes changes, so that older snapshots
   * are ignored.
   */
  readonly version: number
  /** Number of bytes of a packed value; 0 if only the presence of an entry matters. */
  readonly bytes: number
  /** Writes exactly `bytes` bytes. */
  pack(value: V, view: DataView, at: number): void
  unpack(view: DataView, at: number): P
  /**
   * Returns when an entry expires, in epoch ms; undefined if it never expires. The table rounds this time up to the
   * next whole second.
   */
  expiresAt?(value: V): number | undefined
}

/** Keeps a compacted topic with millions of small entries in memory. Every process has all of its entries. */
export interface PackedTable<K, P> extends TableState {
  /**
   * Returns the unpacked value of a key; undefined if there is no entry or it has expired. Throws ApiError `not_ready`
   * until the topic has been read, unless Kafka stays unavailable and the table serves its snapshot.
   */
  get(key: K): P | undefined
  /** Number of entries, including expired ones that are still stored. */
  readonly size: number
  /** Size of the slots in memory, in bytes. */
  readonly bytes: number
}

export interface PackedTableOptions<K, V, P> extends TableOptions<K, V> {
  readonly packing: Packing<V, P>
}

/**
 * Default interval between snapshots. Writing five million entries takes seconds, so a snapshot is not written for
 * every change.
 */
const SNAPSHOT_INTERVAL_MS = 300_000
const KEY_BYTES = 64
const MS_PER_SECOND = 1_000
/** The latest expiry that a map can store, in epoch seconds. This time is in the year 2106. */
const LATEST_EXPIRY = 2 ** 32 - 1

/** A table in memory with the function that hashes its keys. */
interface Contents {
  readonly map: PackedMap
  readonly key: Buffer
  readonly hash: ReturnType<typeof sipHash128>
}

/** Opens a table. The table reads its snapshot and then the topic, and follows the topic until it is closed. */
export async function packedTable<K, V, P>(options: PackedTableOptions<K, V, P>): Promise<PackedTable<K, P>> {
  const { topic, packing, log, now, monotonic } = options
  const { folder, files, intervalMs = SNAPSHOT_INTERVAL_MS } = options.snapshots
  const form: SnapshotForm = {
    topic: topic.name,
    version: packing.version,
    valueBytes: packing.bytes,
    canExpire: packing.expiresAt !== undefined,
  }
  const scratch = new DataView(new ArrayBuffer(packing.bytes))
  const scratchBytes = new Uint8Array(scratch.buffer)
  const keyBytes = byteWriter(KEY_BYTES)
  const nowSeconds = () => now() / MS_PER_SECOND

  const table = await snapshotTable<Contents>({
    topic: topic.name,
    transport: options.transport,
    create: () => contentsOf(new PackedMap(form), randomBytes(SIP_KEY_BYTES)),
    sizeOf: ({ map }) => map.size,
    applier: (filling) =>
      recordApplier<V | undefined>({
        topic: topic.name,
        log,
        loadSchema: options.loadSchema,
        decode: (chunk, index) => recordValue(options.values, chunk, index),
        apply(value, { buffer, keyStart, keyEnd }, index) {
          const { map, hash: hashOf } = filling()
          const hash = hashOf(buffer, keyStart[index], keyEnd[index])
          if (value === undefined) {
            map.delete(hash, nowSeconds())
            return
          }
          packing.pack(value, scratch, 0)
          map.set(hash, scratchBytes, 0, expiryOf(packing.expiresAt?.(value)), nowSeconds())
        },
      }),
    async read() {
      const found = await readSnapshot(files, folder, form, now)
      if (found === undefined) return undefined
      const { map, key, ...place } = found
      return { contents: contentsOf(map, key), ...place }
    },
    write: ({ contents: { map, key }, ...place }) => writeSnapshot(files, folder, form, { map, key, ...place }),
    log,
    now,
    monotonic,
    intervalMs,
  })

  return {
    get(key) {
      const { serving } = table
      if (serving === undefined) throw notLoaded(topic.name)
      keyBytes.length = 0
      topic.key.encode(key, keyBytes)
      return serving.map.get(serving.hash(keyBytes.buffer, 0, keyBytes.length), nowSeconds(), packing.unpack)
    },
    get size() {
      return (table.serving ?? table.filling).map.size
    },
    get bytes() {
      const { serving, filling } = table
      return filling.map.bytes + (serving === undefined || serving === filling ? 0 : serving.map.bytes)
    },
    get isFromSnapshot() {
      return table.isFromSnapshot
    },
    get staleMs() {
      return table.staleMs
    },
    get isStale() {
      return table.isStale
    },
    probes: table.probes,
    close: table.close,
  }
}

/**
 * Returns an expiry for the map.
 * @param expiresAt epoch ms; undefined if the entry never expires
 */
function expiryOf(expiresAt: number | undefined): number {
  if (expiresAt === undefined) return NEVER
  return Math.min(Math.max(NEVER + 1, Math.ceil(expiresAt / MS_PER_SECOND)), LATEST_EXPIRY)
}

function contentsOf(map: PackedMap, key: Buffer): Contents {
  return { map, key, hash: sipHash128(key) }
}
