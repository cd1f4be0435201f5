import {
  type Directory,
  deletedEntry,
  nextSpace,
  positionKey,
  positionName,
  positionValue,
  spaceEntry,
  spaceName,
  spaceRange,
} from './key-spaces.ts'
import type { Batch, RocksdbBinding } from './rocksdb-binding.ts'
import { type ColumnSpace, rocksdbColumn, type Scratch } from './rocksdb-column.ts'
import type { LiveDatabase } from './rocksdb-live.ts'
import { isOverloaded, nearsStall } from './rocksdb-load.ts'
import type { StateBatch, StateColumn, StateSession } from './store.ts'

/** The resources that all sessions of a database share. */
export interface SharedDatabase {
  /** See `StateSession`. */
  readonly batchBytes: number
  readonly binding: RocksdbBinding
  readonly live: LiveDatabase
  readonly directory: Directory
  /** The current key spaces of the opened columns, by `spaceName`. */
  readonly columnSpaces: Map<string, ColumnSpace>
  /**
   * Empty batches that are kept for reuse. All sessions share them, because a batch keeps the memory that its largest
   * content took. If each session had its own, a backlog or a restore would leave large batches in all of them forever.
   */
  readonly spareBatches: Batch[]
  readonly keys: Scratch
  readonly values: Scratch
  /** Requests a rewrite of the database. */
  scrub(): void
  /** Converts an error of the binding into the error to throw. */
  failed(doing: string, error: unknown): Error
}

interface OpenBatch extends StateBatch {
  /**
   * The batch of the binding. When it is first used, it is taken from the spare batches, or created if there are none.
   */
  readonly batch: Batch
}

/** Maximum number of spare batches. Few sessions have changes in their batches at the same time. */
const MAX_SPARE_BATCHES = 8

/** Opens the stores and positions of one topology, with a separate open batch. */
export function rocksdbSession(shared: SharedDatabase, topology: string): StateSession {
  const { binding, live, directory, columnSpaces, spareBatches, failed } = shared
  const columns = new Map<string, StateColumn>()
  let open = newBatch()
  const current = {
    get batch() {
      return open.batch
    },
  }

  function newBatch(): OpenBatch {
    let batch: Batch | undefined
    const positions = new Map<string, number | null>()

    function filled(): Batch {
      batch ??= spareBatches.pop() ?? binding.batch_init()
      return batch
    }

    function clear(): void {
      positions.clear()
      if (batch === undefined) return
      binding.batch_clear(batch)
      if (spareBatches.length < MAX_SPARE_BATCHES) spareBatches.push(batch)
      batch = undefined
    }

    return {
      get batch() {
        return filled()
      },
      putPosition(position, offset) {
        const name = positionName(topology, position)
        positions.set(name, offset)
        if (offset === null) binding.batch_del(filled(), positionKey(name), undefined)
        else binding.batch_put(filled(), positionKey(name), positionValue(offset), undefined)
      },
      write() {
        if (batch === undefined) return
        let isFree: boolean
        try {
          isFree = live.write(batch)
        } catch (error) {
          throw failed(`writing the state of ${topology}`, error)
        }
        for (const [name, offset] of positions) {
          if (offset === null) directory.positions.delete(name)
          else directory.positions.set(name, offset)
        }
        if (!isFree) batch = undefined
        clear()
      },
      drop: clear,
    }
  }

  /** Writes a small batch immediately, separately from the open batch. */
  function writeNow(doing: string, change: (own: Batch) => void): void {
    try {
      const own = binding.batch_init()
      change(own)
      live.write(own)
    } catch (error) {
      throw failed(doing, error)
    }
  }

  function createSpace(name: string, store: string): number {
    const space = nextSpace(directory)
    writeNow(`creating store ${store}`, (own) => binding.batch_put(own, ...spaceEntry(name, space), undefined))
    directory.spaces.set(name, space)
    return space
  }

  function columnSpace(name: string, store: string): ColumnSpace {
    let at = columnSpaces.get(name)
    if (at === undefined) {
      at = { space: directory.spaces.get(name) ?? createSpace(name, store) }
      columnSpaces.set(name, at)
    }
    return at
  }

  return {
    batchBytes: shared.batchBytes,

    column(store, partition) {
      const name = spaceName(topology, store, partition)
      let column = columns.get(name)
      if (column === undefined) {
        column = rocksdbColumn({ ...shared, open: current }, columnSpace(name, store), (error) => failed(`reading store ${store}`, error))
        columns.set(name, column)
      }
      return column
    },

    takeBatch() {
      const taken = open
      open = newBatch()
      return taken
    },

    write: () => open.write(),
    dropBatch: () => open.drop(),
    isOverloaded: () => isOverloaded(binding, live.current),
    nearsStall: () => nearsStall(binding, live.current),
    putPosition: (position, offset) => open.putPosition(position, offset),

    position(position) {
      return directory.positions.get(positionName(topology, position))
    },

    clear(store, partition, positions = []) {
      const name = spaceName(topology, store, partition)
      const names = positions.map((position) => positionName(topology, position))
      const old = directory.spaces.get(name)
      const space = old === undefined ? undefined : nextSpace(directory)
      writeNow(`clearing store ${store}`, (own) => {
        if (old !== undefined && space !== undefined) {
          binding.batch_put(own, ...spaceEntry(name, space), undefined)
          binding.batch_put(own, ...deletedEntry(old), undefined)
        }
        for (const position of names) binding.batch_del(own, positionKey(position), undefined)
      })
      for (const position of names) directory.positions.delete(position)
      if (old === undefined || space === undefined) return
      directory.spaces.set(name, space)
      const known = columnSpaces.get(name)
      if (known) known.space = space
      try {
        deleteRows(binding, live, old)
      } catch (error) {
        throw failed(`clearing store ${store}`, error)
      }
    },
  }
}

/**
 * Deletes the rows of a space and then its directory entry. If a crash interrupts the deletion, the next open repeats
 * it.
 */
export function deleteRows(binding: RocksdbBinding, live: LiveDatabase, space: number): void {
  live.deleteRange(spaceRange(space))
  const own = binding.batch_init()
  binding.batch_del(own, deletedEntry(space)[0], undefined)
  live.write(own)
}
