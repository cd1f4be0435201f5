import { sessionsOf } from './sessions.ts'
import type { StateBackend, StateBatch, StateSession } from './store.ts'

/** The stores of a topology that are in the small database. */
export interface ApartStores {
  hasStore(store: string): boolean
  /**
   * Returns whether a position belongs to a store in the small database, so that it must be written together with the
   * store.
   */
  hasPosition(name: string): boolean
}

export interface SplitOptions {
  /** The database of all other stores and positions. */
  readonly main: StateBackend
  /** The small database, which is rewritten at intervals. */
  readonly apart: StateBackend
  /** Returns the topology's stores in the small database; undefined if it has none there. */
  apartOf(topology: string): ApartStores | undefined
  /**
   * True if the small database is new. Then `main` may still contain its stores, because an earlier version had a
   * single database.
   */
  readonly isNew: boolean
}

/**
 * Keeps some stores in a database of their own, which can be rewritten quickly. The two databases are not written
 * atomically. This is safe because each store is in the same database as the position of its changelog: if one database
 * loses its last writes, the next start reads them from the changelogs.
 */
export function splitBackend({ main, apart, apartOf, isNew }: SplitOptions): StateBackend {
  let mustScrubMain = isNew

  function opener(kind: 'session' | 'copySession') {
    return (topology: string) => {
      const stores = apartOf(topology)
      return stores === undefined ? main[kind](topology) : splitSession(main[kind](topology), apart[kind](topology), stores)
    }
  }

  return {
    session: sessionsOf(opener('session')).session,
    copySession: sessionsOf(opener('copySession')).copySession,
    async scrub() {
      const isRewritten = await apart.scrub()
      if (!mustScrubMain) return isRewritten
      // One attempt to rewrite `main` is enough: the rows of the moved stores have been deleted from it, so compactions
      // eventually remove them from its files anyway.
      mustScrubMain = false
      return (await main.scrub()) || isRewritten
    },
    stats() {
      const [one, other] = [main.stats(), apart.stats()]
      return { diskBytes: one.diskBytes + other.diskBytes, memoryBytes: one.memoryBytes + other.memoryBytes }
    },
    async close() {
      await apart.close()
      await main.close()
    },
  }
}

function splitSession(main: StateSession, apart: StateSession, { hasStore, hasPosition }: ApartStores): StateSession {
  const ofPosition = (name: string) => (hasPosition(name) ? apart : main)

  function bothOf(one: StateBatch, other: StateBatch): StateBatch {
    return {
      putPosition: (name, offset) => (hasPosition(name) ? other : one).putPosition(name, offset),
      write() {
        other.write()
        one.write()
      },
      drop() {
        other.drop()
        one.drop()
      },
    }
  }

  return {
    batchBytes: main.batchBytes,
    column: (store, partition) => (hasStore(store) ? apart : main).column(store, partition),
    takeBatch: () => bothOf(main.takeBatch(), apart.takeBatch()),
    write() {
      apart.write()
      main.write()
    },
    dropBatch() {
      apart.dropBatch()
      main.dropBatch()
    },
    isOverloaded: () => main.isOverloaded() || apart.isOverloaded(),
    nearsStall: () => main.nearsStall() || apart.nearsStall(),
    putPosition: (name, offset) => ofPosition(name).putPosition(name, offset),
    position: (name) => ofPosition(name).position(name),
    clear(store, partition, positions) {
      // An earlier version may have kept the store in the main database.
      main.clear(store, partition, positions)
      if (hasStore(store)) apart.clear(store, partition, positions)
    },
  }
}
