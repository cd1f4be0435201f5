import { partitionFor } from '../../../kafka/partitioner.ts'
import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import { byteWriter, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
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
import type { GroupView } from '../worker/group-view.ts'

/** How long partition owners are cached, so that many queries cause few requests to the group coordinator. */
const OWNERS_KEPT_MS = 1_000

export interface QueryOptions {
  /**
   * The key's partition, for stores whose records are not partitioned by the store's own key. The default is the
   * murmur2 of the key.
   */
  readonly partition?: number
  /** Allows a local standby copy to answer too; such an answer contains the lag of the copy. Default false. */
  readonly standby?: boolean
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
   * Number of offsets that the state lacked at the last fetch. For an active task, the offsets are those of the input;
   * for a standby, those of the changelog.
   */
  readonly behind: number
  /**
   * Time, epoch ms. If the state was up to date at the last fetch, this is the time of that fetch; if not, it is the
   * time of the last write to the state. The time does not advance on a worker that has lost its connection.
   */
  readonly asOf: number
}

export type QueryAnswer<V> =
  | { readonly outcome: 'answered'; readonly value: V | undefined; readonly state: StateView }
  | OnOtherWorker
  /** The partition is being moved or restored. Repeat the query later. */
  | { readonly outcome: 'not-ready'; readonly partition: number; readonly reason: string }

/** The answer when another worker has the partition. Repeat the query at that worker. */
export interface OnOtherWorker {
  readonly outcome: 'other-worker'
  readonly partition: number
  readonly memberId: string
  /** The address of the other worker; undefined when it has not published an address. */
  readonly address: string | undefined
  /** Addresses of workers with a standby copy. Query them with `standby` if the owner does not answer. */
  readonly standbys: readonly string[]
}

/** Thrown for invalid queries. */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  readonly code: 'unknown_store' | 'invalid_key' | 'invalid_partition'
  constructor(code: QueryError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * The part of a store's declaration that queries need. A caller may pass the topology's own store or any other store
 * with the same declaration.
 */
export interface ReadableStore<K, V> {
  readonly name: string
  readonly lookup: StoreLookup<K, V>
}

/** Reads the state of a running topology. Queries see only committed state and do not interrupt processing. */
export interface StateQueries {
  /** The stores that can be read. */
  readonly stores: readonly { readonly name: string; readonly partitions: number }[]
  /** Reads the value of a key. @throws QueryError if the topology does not have this store or partition */
  get<K, V>(store: ReadableStore<K, V>, key: K, options?: QueryOptions): Promise<QueryAnswer<V>>
  /** Reads a value like `get`, but takes the bytes of the key, which must be a valid key of the store. */
  getBytes(store: string, key: Buffer, options?: QueryOptions): Promise<QueryAnswer<unknown>>
}

export interface QueryDeps {
  readonly topology: Topology
  /** The number of partitions of a sub-topology's state. */
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
      throw new QueryError('unknown_store', `topology ${topology.name} has no store ${name}; there are: ${[...stores.keys()].join(', ')}`)
    return known
  }

  function partitionOf({ part, store }: Known, key: Buffer, asked: number | undefined): number {
    const partitions = Math.max(1, deps.tasksOf(part))
    if (asked === undefined) return partitionFor(key, partitions)
    if (Number.isSafeInteger(asked) && asked >= 0 && asked < partitions) return asked
    throw new QueryError('invalid_partition', `store ${store.name} has the partitions 0 to ${partitions - 1}`)
  }

  function encoded(write: (out: typeof keyBytes) => void): Buffer {
    keyBytes.length = 0
    try {
      write(keyBytes)
    } catch (error) {
      if (error instanceof CodecError) throw new QueryError('invalid_key', error.message)
      throw error
    }
    return Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length))
  }

  /** The row and its position are read synchronously, so that no commit can happen in between. */
  function read({ store, lookup }: Known, partition: number, row: Buffer): unknown {
    const [bytes] = session.column(store.name, partition).multiGet({ bytes: row, ends: [row.length] })
    return bytes && lookup.view(deps.codecs.storeValue(store).decode(bytes, 0, bytes.length))
  }

  function activeView(known: Known, task: StreamTask): StateView {
    const position = statePosition(session, task, known.store.name)
    const behind = task.sources.reduce((sum, { topic }) => sum + Math.max(0, task.highWatermark(topic) - offsetIn(position, topic)), 0)
    const lookedAt = behind === 0 ? task.fetchedAt : undefined
    return { partition: task.partition, role: 'active', position, behind, asOf: lookedAt ?? position.writtenAt }
  }

  /** Answers from local state. Returns undefined when this process has no state that may answer. */
  function answerHere(known: Known, partition: number, row: Buffer, standby: boolean): QueryAnswer<unknown> | undefined {
    const task = deps.tasks().find((each) => each.part === known.part && each.partition === partition)
    if (task?.state === 'RUNNING') return { outcome: 'answered', value: read(known, partition, row), state: activeView(known, task) }
    if (task !== undefined) return { outcome: 'not-ready', partition, reason: 'its state is being restored here' }
    const place = taskPlace(declaration, known.part, partition)
    const copy = standby ? deps.standby(place.id) : undefined
    if (copy?.completeAt === undefined) return undefined
    const position = statePosition(session, place, known.store.name)
    const state: StateView = { partition, role: 'standby', position, behind: copy.behind, asOf: copy.completeAt }
    return { outcome: 'answered', value: read(known, partition, row), state }
  }

  async function ownerOf({ part }: Known, partition: number, standby: boolean): Promise<QueryAnswer<never>> {
    const count = deps.tasksOf(part)
    if (count === 0) return { outcome: 'not-ready', partition, reason: 'its sources have got more partitions than the state has' }
    const wanted = partitionKey(part.sources[0], partition)
    const owns = ({ topic, partition: number }: TopicPartition) => partitionKey(topic, number) === wanted
    const members = await deps.group.members(OWNERS_KEPT_MS)
    const { active } = makeupOf(members, deps.sources)
    const keepers = standbyOwners(active, partition, count, deps.copies).filter((id) => id !== deps.memberId())
    const standbys = members.filter(({ memberId }) => keepers.includes(memberId))
    const owner = members.find(({ partitions }) => partitions.some(owns)) ?? (standby ? standbys[0] : undefined)
    if (owner === undefined) return { outcome: 'not-ready', partition, reason: 'no worker owns it at the moment' }
    const { memberId, address } = owner
    if (memberId === deps.memberId()) return { outcome: 'not-ready', partition, reason: 'it is about to start here' }
    return { outcome: 'other-worker', partition, memberId, address, standbys: standbys.flatMap((each) => each.address ?? []) }
  }

  async function answer(known: Known, key: Buffer, row: Buffer, options: QueryOptions): Promise<QueryAnswer<unknown>> {
    const partition = partitionOf(known, key, options.partition)
    for (;;) {
      try {
        return answerHere(known, partition, row, options.standby === true) ?? (await ownerOf(known, partition, options.standby === true))
      } catch (error) {
        // This process may not have loaded the schema of the value, because it may not have read a record with that
        // schema yet.
        if (!(error instanceof UnknownSchemaError) || (await deps.loadSchema(error.schemaId)) !== 'loaded') throw error
      }
    }
  }

  return {
    get stores() {
      return [...stores].map(([name, { part }]) => ({ name, partitions: deps.tasksOf(part) }))
    },
    async get<K, V>({ name, lookup }: ReadableStore<K, V>, key: K, options: QueryOptions = {}) {
      const known = storeOf(name)
      const bytes = encoded((out) => lookup.key.encode(key, out))
      const row = encoded((out) => lookup.encodeRow(key, out))
      return (await answer(known, bytes, row, options)) as QueryAnswer<V>
    },
    async getBytes(name, bytes, options = {}) {
      const known = storeOf(name)
      const { lookup } = known
      const row = encoded((out) => lookup.encodeRow(lookup.key.decode(bytes, 0, bytes.length), out))
      return answer(known, bytes, row, options)
    },
  }
}

function offsetIn({ sources }: StatePosition, topic: string): number {
  return sources.find((source) => source.topic === topic)?.offset ?? 0
}
