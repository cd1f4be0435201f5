import { randomBytes } from 'node:crypto'
import type { Transport } from '../../../kafka/transport.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { ApiError, errors } from '../errors.ts'
import type { Logger } from '../logging.ts'
import type { ReadinessProbe } from '../readiness.ts'
import { recordApplier, recordValue } from '../record-values.ts'
import type { SpoolFiles } from '../spool/files.ts'
import { followTopic, type TopicFollower } from '../topic-follower.ts'
import { NEVER, PackedMap } from './packed-map.ts'
import { SIP_KEY_BYTES, sipHash128 } from './sip-hash.ts'
import { readSnapshot, type Snapshot, SnapshotError, type SnapshotForm, writeSnapshot } from './snapshot.ts'

/** How a topic's values become a few bytes. */
export interface Packing<V, P> {
  /** Increases when the meaning of the bytes changes, so that older snapshots are ignored. */
  readonly version: number
  /** Bytes of a packed value; 0 if the presence of an entry is all there is to know. */
  readonly bytes: number
  /** Writes exactly `bytes` bytes. */
  pack(value: V, view: DataView, at: number): void
  unpack(view: DataView, at: number): P
  /** Epoch ms from which an entry no longer counts, rounded up to a second; undefined if it never expires. */
  expiresAt?(value: V): number | undefined
}

/**
 * Keeps a compacted topic with millions of small entries in memory. Every process has the whole topic. The table also
 * keeps a snapshot on the disk, with which a process that starts while Kafka is away answers with the last contents
 * that it knew.
 */
export interface PackedTable<K, P> {
  /**
   * Returns what is packed for a key; undefined if there is no entry or it has expired. Throws ApiError `not_ready`
   * until the table is read, or until Kafka has been away for so long that the snapshot counts.
   */
  get(key: K): P | undefined
  /** Number of entries, including expired ones that are still stored. */
  readonly size: number
  /** Bytes of the slots in memory. */
  readonly bytes: number
  /** Whether the contents are those of a snapshot, because Kafka has been away since the start. */
  readonly isFromSnapshot: boolean
  /**
   * For how long the table may lack changes, in ms: the age of a snapshot in use, else the time since Kafka was heard
   * of. At most a few seconds while all is well; Infinity while the table is not ready.
   */
  readonly staleMs: number
  /** Whether the table lacks changes of more than a few seconds, as when Kafka is away. */
  readonly isStale: boolean
  /** The first one reports a table that is not ready, and the second one, which is optional, a stale one. */
  readonly probes: readonly ReadinessProbe[]
  /** Writes a last snapshot. */
  close(): Promise<void>
}

export interface PackedTableOptions<K, V, P> {
  readonly transport: Transport
  readonly topic: Topic<K, V>
  readonly values: Codec<V>
  readonly packing: Packing<V, P>
  /** Loads the schema with which a value was written, after UnknownSchemaError. */
  loadSchema(schemaId: number): Promise<unknown>
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  readonly snapshots: SnapshotOptions
}

export interface SnapshotOptions {
  readonly folder: string
  readonly files: SpoolFiles
  /** How often a snapshot is written. Default 5 minutes. */
  readonly intervalMs?: number
}

/** The longest wait for records, and how often a silent topic gives news. */
const POLL_MS = 1_000
/** Applying that many bytes takes a few milliseconds, for which requests wait. */
const MAX_POLL_BYTES = 262_144
/** After this time without news from Kafka, the table is stale, and a table that is not read yet takes its snapshot. */
const STALE_AFTER_MS = 5_000
const CHECK_INTERVAL_MS = 250
const SNAPSHOT_INTERVAL_MS = 300_000
/** How often the snapshot of an unchanged table is written, so that it stays young enough to be continued. */
const UNCHANGED_INTERVAL_MS = 3_600_000
/**
 * A snapshot of this age is not continued. Kafka removes deletions after `delete.retention.ms` (by default 24 hours),
 * so that a reader that continues later would keep deleted entries for ever.
 */
const MAX_CONTINUED_MS = 12 * 3_600_000
const KEY_BYTES = 64
const MS_PER_SECOND = 1_000

/** A table in memory with the function that hashes its keys. */
interface Contents {
  readonly map: PackedMap
  readonly key: Buffer
  readonly hash: ReturnType<typeof sipHash128>
}

/** Reads the snapshot, then the topic, and continues until it is closed. */
export async function packedTable<K, V, P>(options: PackedTableOptions<K, V, P>): Promise<PackedTable<K, P>> {
  const { topic, packing, log, now, monotonic } = options
  const { folder, files, intervalMs = SNAPSHOT_INTERVAL_MS } = options.snapshots
  const form: SnapshotForm = {
    topic: topic.name,
    version: packing.version,
    valueBytes: packing.bytes,
    canExpire: packing.expiresAt !== undefined,
  }
  const startedAt = monotonic()
  const loaded = await loadSnapshot()
  const isContinued = loaded !== undefined && now() - loaded.savedAt < MAX_CONTINUED_MS && loaded.savedAt <= now()
  /** The contents that the topic is applied to. */
  let filling = isContinued ? contentsOf(loaded.map, loaded.key) : newContents()
  /** The contents that callers get; undefined while the table is not ready. */
  let serving: Contents | undefined
  /** The snapshot in use, whose age is that of the contents; undefined once the topic is read. */
  let snapshot: Snapshot | undefined = loaded
  /** The last monotonic ms at which the topic was still applied to `serving`; undefined if it still is. */
  let frozenAt: number | undefined
  /** The monotonic ms at which Kafka was last heard of. */
  let heardAt = startedAt
  let isWriting: Promise<void> | undefined
  let isChanged = false
  /** Epoch ms of the last snapshot that was written. */
  let savedAt: number | undefined
  const scratch = new DataView(new ArrayBuffer(packing.bytes))
  const scratchBytes = new Uint8Array(scratch.buffer)
  const keyBytes = byteWriter(KEY_BYTES)

  const nowSeconds = () => now() / MS_PER_SECOND

  const apply = recordApplier<V | undefined>({
    topic: topic.name,
    log,
    loadSchema: options.loadSchema,
    decode: (chunk, index) => recordValue(options.values, chunk, index),
    apply(value, { buffer, keyStart, keyEnd }, index) {
      isChanged = true
      const hash = filling.hash(buffer, keyStart[index], keyEnd[index])
      if (value === undefined) {
        filling.map.delete(hash, nowSeconds())
        return
      }
      packing.pack(value, scratch, 0)
      const expiresAt = packing.expiresAt?.(value)
      filling.map.set(hash, scratchBytes, 0, expiresAt === undefined ? NEVER : Math.ceil(expiresAt / MS_PER_SECOND), nowSeconds())
    },
  })

  const follower: TopicFollower = followTopic({
    transport: options.transport,
    topic: topic.name,
    log,
    monotonic,
    pollMs: POLL_MS,
    maxPollBytes: MAX_POLL_BYTES,
    from: isContinued ? loaded.positions : undefined,
    apply,
    maxGapMs: MAX_CONTINUED_MS,
    onStartOver(reason) {
      log.warn({ topic: topic.name, reason }, 'table_starts_over')
      filling = newContents()
      // Until the topic is read again, callers get the contents so far, which no longer change.
      if (serving !== undefined) frozenAt ??= monotonic() - silentMs()
    },
    onCaughtUp() {
      serving = filling
      snapshot = undefined
      frozenAt = undefined
      log.info({ topic: topic.name, entries: filling.map.size, took_ms: Math.round(monotonic() - startedAt) }, 'table_ready')
    },
  })

  const checking = setInterval(useSnapshot, CHECK_INTERVAL_MS)
  const saving = setInterval(() => void save(), intervalMs)
  checking.unref()
  saving.unref()

  async function loadSnapshot(): Promise<Snapshot | undefined> {
    try {
      return await readSnapshot(files, folder, form, now)
    } catch (error) {
      const event = error instanceof SnapshotError ? 'table_snapshot_ignored' : 'table_snapshot_not_read'
      log.warn({ topic: topic.name, reason: (error as Error).message }, event)
      return undefined
    }
  }

  /** Answers from the snapshot once Kafka has been away for too long. */
  function useSnapshot(): void {
    if (serving !== undefined) clearInterval(checking)
    if (serving !== undefined || snapshot === undefined || silentMs() < STALE_AFTER_MS) return
    serving = filling.map === snapshot.map ? filling : contentsOf(snapshot.map, snapshot.key)
    log.warn({ topic: topic.name, entries: serving.map.size, saved_at: new Date(snapshot.savedAt).toISOString() }, 'table_snapshot_in_use')
  }

  /** Writes a snapshot if the table is current. A failure leaves the older one, and the next interval tries again. */
  function save(): Promise<void> {
    const isCurrent = serving === filling && snapshot === undefined && !isStale()
    const isDue = isChanged || savedAt === undefined || now() - savedAt >= UNCHANGED_INTERVAL_MS
    if (isCurrent && isDue)
      isWriting ??= write().finally(() => {
        isWriting = undefined
      })
    return isWriting ?? Promise.resolve()
  }

  async function write(): Promise<void> {
    // The positions come first, because changes during the write may already be in the file.
    const { map, key } = filling
    const content = { map, key, positions: new Map(follower.positions), savedAt: now() - silentMs() }
    isChanged = false
    try {
      await writeSnapshot(files, folder, form, content)
      savedAt = content.savedAt
    } catch (error) {
      isChanged = true
      log.error({ topic: topic.name, reason: (error as Error).message }, 'table_snapshot_not_written')
    }
  }

  /** Returns the ms since Kafka was last heard of. */
  function silentMs(): number {
    heardAt = follower.heardAt ?? heardAt
    return monotonic() - heardAt
  }

  function staleMs(): number {
    if (serving === undefined) return Number.POSITIVE_INFINITY
    const frozenMs = frozenAt === undefined ? 0 : monotonic() - frozenAt
    const snapshotMs = snapshot === undefined ? 0 : now() - snapshot.savedAt
    return Math.max(silentMs(), frozenMs, snapshotMs)
  }

  function isStale(): boolean {
    return staleMs() >= STALE_AFTER_MS
  }

  async function missing(): Promise<string | undefined> {
    return serving === undefined ? (follower.missing ?? 'starting') : undefined
  }

  async function stale(): Promise<string | undefined> {
    if (serving === undefined || !isStale()) return undefined
    const since = Math.floor(staleMs() / MS_PER_SECOND)
    const source = snapshot === undefined ? `topic ${topic.name} has given no news` : `a snapshot of ${topic.name} is in use, unchanged`
    const reason = follower.failure === undefined ? '' : `: ${follower.failure.reason}`
    return `${source} for ${since} s${reason}`
  }

  return {
    get(key) {
      if (serving === undefined) throw new ApiError(errors.not_ready, { message: `The table of ${topic.name} is still being loaded.` })
      keyBytes.length = 0
      topic.key.encode(key, keyBytes)
      return serving.map.get(serving.hash(keyBytes.buffer, 0, keyBytes.length), nowSeconds(), packing.unpack)
    },
    get size() {
      return (serving ?? filling).map.size
    },
    get bytes() {
      return filling.map.bytes + (serving === undefined || serving === filling ? 0 : serving.map.bytes)
    },
    get isFromSnapshot() {
      return serving !== undefined && snapshot !== undefined
    },
    get staleMs() {
      return staleMs()
    },
    get isStale() {
      return isStale()
    },
    probes: [
      { name: `table ${topic.name}`, check: missing },
      { name: `news of table ${topic.name}`, optional: true, check: stale },
    ],
    async close() {
      clearInterval(checking)
      clearInterval(saving)
      await isWriting
      if (isChanged) await save()
      await follower.close()
    },
  }

  function newContents(): Contents {
    return contentsOf(new PackedMap(form), randomBytes(SIP_KEY_BYTES))
  }

  function contentsOf(map: PackedMap, key: Buffer): Contents {
    return { map, key, hash: sipHash128(key) }
  }
}
