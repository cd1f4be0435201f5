import type { GroupView } from '../../../kafka/group-view.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import { byteWriter, type Codec, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
import { StateCorrupted } from '../../../state/stores/errors.ts'
import type { AnyStoreLookup, EngineStore, StateSession, StoreLookup } from '../../../state/stores/store.ts'
import { makeupOf } from '../state/makeup.ts'
import { standbyOwners } from '../state/placement.ts'
import { type StatePosition, statePosition } from '../state/restore.ts'
import type { StandbyCopy } from '../state/standby.ts'
import type { StreamTask } from '../task/task.ts'
import { taskPlace } from '../task/task-place.ts'
import type { Codecs } from '../topology/codecs.ts'
import type { SubTopology } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'
import { isPassing } from '../worker/membership.ts'
import { QueryError } from './query-error.ts'
import { checkLimit, readPage, type StatePage, type StateRange } from './state-range.ts'

/** How long partition owners are cached, so that many queries cause few requests to the group coordinator. */
const OWNERS_KEPT_MS = 1_000

export interface RangeOptions {
  /** Allows a local standby copy to answer too; such an answer contains the lag of the copy. Default false. */
  readonly standby?: boolean
}

export interface QueryOptions extends RangeOptions {
  /**
   * The key's partition. Needed for stores that are not partitioned by their own key. By default, the murmur2 hash of
   * the key determines the partition.
   */
  readonly partition?: number
}

/**
 * The state from which an answer was read. The state contains all committed changes up to `position`, and no others.
 */
export interface StateView {
  readonly partition: number
  /** `active`: the task that processes the partition. `standby`: a copy that follows the changelog. */
  readonly role: 'active' | 'standby'
  readonly position: StatePosition
  /**
   * How many offsets the state was behind at the last fetch: behind the input for an active task, behind the changelog
   * for a standby.
   */
  readonly behind: number
  /**
   * How current the state is, epoch ms. For a standby, the last time at which the copy was up to date. For an active
   * task, the time of the last fetch if the state was up to date then, otherwise the time of the last commit. On a
   * worker that has lost its connection, this time does not advance.
   */
  readonly asOf: number
}

export type Answer<T> =
  | { readonly outcome: 'answered'; readonly value: T; readonly state: StateView }
  | OnOtherWorker
  /** No answer is possible now, usually because the partition is being moved or restored. Repeat the query later. */
  | { readonly outcome: 'not-ready'; readonly partition: number; readonly reason: string }

/** The value is undefined if the state does not have the key. */
export type QueryAnswer<V> = Answer<V | undefined>
/** The value is a page of the range. */
export type RangeAnswer<K, V> = Answer<StatePage<K, V>>

/** A range of keys of a partition. The bounds are keys as the topology uses them, not encoded keys. */
export interface QueryRange<K> extends Omit<StateRange, 'gte' | 'lt'> {
  readonly gte?: K
  readonly lt?: K
}

/**
 * The answer when another worker owns the partition or, for a query with `standby`, when no worker owns it and another
 * worker should have a standby copy. Send the query to that worker instead.
 */
export interface OnOtherWorker {
  readonly outcome: 'other-worker'
  readonly partition: number
  readonly memberId: string
  /** The address of the other worker; undefined when it has not published an address. */
  readonly address: string | undefined
  /**
   * The known addresses of the other workers that should have a standby copy. Query them with `standby` if the owner
   * does not answer.
   */
  readonly standbys: readonly string[]
}

/**
 * The part of a store's declaration that queries need. A caller may pass the topology's own store or any other store
 * with the same declaration.
 */
export interface ReadableStore<K, V> {
  readonly name: string
  readonly lookup: StoreLookup<K, V>
}

/** Reads the state of a running topology. Queries read only committed state and do not interrupt processing. */
export interface StateQueries {
  /** The stores that can be read. */
  readonly stores: readonly { readonly name: string; readonly partitions: number }[]
  /**
   * Reads the value of a key.
   * @throws QueryError if the topology does not have this store or partition, or if the key is invalid
   */
  get<K, V>(store: ReadableStore<K, V>, key: K, options?: QueryOptions): Promise<QueryAnswer<V>>
  /** Reads a value like `get`, but takes the key as bytes. The bytes must be a valid key of the store. */
  getBytes(store: string, key: Buffer, options?: QueryOptions): Promise<QueryAnswer<unknown>>
  /**
   * Reads a page of the keys of one partition, in the order of their encoded bytes. All entries of a page belong to one
   * commit; the next page may belong to a later commit.
   * @throws QueryError if the topology does not have this store or partition, or if a bound or the limit is invalid
   */
  scan<K, V>(store: ReadableStore<K, V>, range: QueryRange<K>, options?: RangeOptions): Promise<RangeAnswer<K, V>>
  /** Reads a page like `scan`, but takes the bounds as bytes. The bounds need not be valid keys. */
  scanBytes(store: string, range: StateRange, options?: RangeOptions): Promise<RangeAnswer<unknown, unknown>>
}

export interface QueryDeps {
  readonly topology: Topology
  /** Returns the number of tasks of a sub-topology; 0 when its state no longer matches its sources. */
  readonly tasksOf: (part: SubTopology) => number
  readonly codecs: Codecs
  readonly session: StateSession
  readonly tasks: () => readonly StreamTask[]
  readonly standby: (taskId: string) => StandbyCopy | undefined
  /** Number of standby copies that other workers keep of each task. */
  readonly copies: number
  readonly group: GroupView
  /** The source topics of the topology. A worker that subscribes to these topics processes their partitions. */
  readonly sources: ReadonlySet<string>
  readonly memberId: () => string
  readonly loadSchema: (schemaId: number) => Promise<'loaded' | 'not-found'>
  /** Called when a query finds damaged state, so that the worker stops and the state is restored. */
  readonly onDamage: (error: StateCorrupted) => void
}

interface Known {
  readonly store: EngineStore
  readonly lookup: AnyStoreLookup
  readonly part: SubTopology
}

export function stateQueries(deps: QueryDeps): StateQueries {
  const { topology, session } = deps
  const declaration = topology.declare()
  const keyBytes = byteWriter()
  const stores = new Map<string, Known>()
  for (const part of topology.subTopologies) {
    for (const name of part.stores) {
      const store = declaration.stores.get(name)
      if (store?.lookup !== undefined) stores.set(name, { store, lookup: store.lookup, part })
    }
  }

  function storeOf(name: string): Known {
    const known = stores.get(name)
    if (known === undefined)
      throw new QueryError(
        'unknown_store',
        `topology ${topology.name} has no readable store ${name}; its readable stores are: ${[...stores.keys()].join(', ')}`,
      )
    return known
  }

  const partitionsOf = ({ part }: Known) => Math.max(1, deps.tasksOf(part))

  function checkedPartition(known: Known, asked: number): number {
    const partitions = partitionsOf(known)
    if (Number.isSafeInteger(asked) && asked >= 0 && asked < partitions) return asked
    const { store } = known
    throw new QueryError('invalid_partition', `store ${store.name} has no partition ${asked}, only the partitions 0 to ${partitions - 1}`)
  }

  function encoded<K>(codec: Codec<K>, key: () => K): Buffer {
    keyBytes.length = 0
    try {
      codec.encode(key(), keyBytes)
    } catch (error) {
      if (error instanceof CodecError) throw new QueryError('invalid_key', error.message)
      throw error
    }
    return Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length))
  }

  function readRow({ store, lookup }: Known, partition: number, key: Buffer): unknown {
    const row = Buffer.concat([lookup.rowPrefix, key])
    const [bytes] = session.column(store.name, partition).multiGet({ bytes: row, ends: [row.length] })
    return bytes && lookup.view(deps.codecs.storeValue(store).decode(bytes, 0, bytes.length))
  }

  function activeView(known: Known, task: StreamTask): StateView {
    const position = statePosition(session, task, known.store.name)
    const behind = task.sources.reduce((sum, { topic }) => sum + Math.max(0, task.highWatermark(topic) - offsetIn(position, topic)), 0)
    const lookedAt = behind === 0 ? task.fetchedAt : undefined
    return { partition: task.partition, role: 'active', position, behind, asOf: lookedAt ?? position.writtenAt }
  }

  /**
   * Answers from local state. The value and its position are read synchronously, so that no commit can happen in
   * between. Returns `not-ready` while the partition's task restores its state here. Returns undefined when this
   * process has neither this task nor a copy that may answer.
   */
  function answerHere<T>(known: Known, partition: number, standby: boolean, read: () => T): Answer<T> | undefined {
    const task = deps.tasks().find((each) => each.part === known.part && each.partition === partition)
    if (task?.state === 'RUNNING') return { outcome: 'answered', value: read(), state: activeView(known, task) }
    if (task !== undefined) return { outcome: 'not-ready', partition, reason: 'its state is being restored here' }
    const place = taskPlace(declaration, known.part, partition)
    const copy = standby ? deps.standby(place.id) : undefined
    if (copy?.completeAt === undefined) return undefined
    const position = statePosition(session, place, known.store.name)
    const state: StateView = { partition, role: 'standby', position, behind: copy.behind, asOf: copy.completeAt }
    return { outcome: 'answered', value: read(), state }
  }

  async function ownerOf({ part }: Known, partition: number, standby: boolean): Promise<Answer<never>> {
    const count = deps.tasksOf(part)
    if (count === 0) return { outcome: 'not-ready', partition, reason: 'its sources now have more partitions than the state' }
    const wanted = partitionKey(part.sources[0], partition)
    const owns = ({ topic, partition: number }: TopicPartition) => partitionKey(topic, number) === wanted
    const members = await deps.group.members(OWNERS_KEPT_MS).catch(unlessPassing)
    if (members === undefined) return { outcome: 'not-ready', partition, reason: 'its owner is unknown, because the brokers do not answer' }
    const { active } = makeupOf(members, deps.sources)
    const keepers = standbyOwners(active, partition, count, deps.copies).filter((id) => id !== deps.memberId())
    const standbys = members.filter(({ memberId }) => keepers.includes(memberId))
    const owner = members.find(({ partitions }) => partitions.some(owns)) ?? (standby ? standbys[0] : undefined)
    if (owner === undefined) return { outcome: 'not-ready', partition, reason: 'no worker owns it at the moment' }
    const { memberId, address } = owner
    if (memberId === deps.memberId()) return { outcome: 'not-ready', partition, reason: 'it is about to start here' }
    return { outcome: 'other-worker', partition, memberId, address, standbys: standbys.flatMap((each) => each.address ?? []) }
  }

  async function answer<T>(known: Known, partition: number, standby: boolean, read: () => T): Promise<Answer<T>> {
    for (;;) {
      try {
        return answerHere(known, partition, standby, read) ?? (await ownerOf(known, partition, standby))
      } catch (error) {
        if (error instanceof StateCorrupted) {
          deps.onDamage(error)
          return { outcome: 'not-ready', partition, reason: 'its state is damaged here and must be restored' }
        }
        // This process may not have loaded the schema of the value, because it may not have read a record with that
        // schema yet.
        if (!(error instanceof UnknownSchemaError) || (await deps.loadSchema(error.schemaId)) !== 'loaded') throw error
      }
    }
  }

  function answerKey(known: Known, key: Buffer, { partition: asked, standby = false }: QueryOptions): Promise<QueryAnswer<unknown>> {
    const partition = asked === undefined ? partitionFor(key, partitionsOf(known)) : checkedPartition(known, asked)
    return answer(known, partition, standby, () => readRow(known, partition, key))
  }

  function answerRange(known: Known, range: StateRange, { standby = false }: RangeOptions): Promise<RangeAnswer<unknown, unknown>> {
    const { store, lookup } = known
    const partition = checkedPartition(known, range.partition)
    checkLimit(range)
    return answer(known, partition, standby, () =>
      readPage(session.column(store.name, partition), lookup, deps.codecs.storeValue(store), range),
    )
  }

  return {
    get stores() {
      return [...stores].map(([name, { part }]) => ({ name, partitions: deps.tasksOf(part) }))
    },
    async get<K, V>({ name, lookup }: ReadableStore<K, V>, key: K, options: QueryOptions = {}) {
      const known = storeOf(name)
      return (await answerKey(
        known,
        encoded(lookup.key, () => key),
        options,
      )) as QueryAnswer<V>
    },
    async getBytes(name, bytes, options = {}) {
      const known = storeOf(name)
      const { key } = known.lookup
      return answerKey(
        known,
        encoded(key, () => key.decode(bytes, 0, bytes.length)),
        options,
      )
    },
    async scan<K, V>({ name, lookup }: ReadableStore<K, V>, { gte, lt, ...rest }: QueryRange<K>, options: RangeOptions = {}) {
      const bound = (key: K | undefined) => (key === undefined ? undefined : encoded(lookup.key, () => key))
      return (await answerRange(storeOf(name), { ...rest, gte: bound(gte), lt: bound(lt) }, options)) as RangeAnswer<K, V>
    },
    async scanBytes(name, range, options = {}) {
      return answerRange(storeOf(name), range, options)
    },
  }
}

function unlessPassing(error: unknown): undefined {
  if (!isPassing(error)) throw error
}

function offsetIn({ sources }: StatePosition, topic: string): number {
  return sources.find((source) => source.topic === topic)?.offset ?? 0
}
