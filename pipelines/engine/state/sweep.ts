import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import { type Walk, walk } from './walk.ts'

/**
 * Removes expired entries from a store, in small steps that cover the whole store over time. A sweep is necessary
 * because no record triggers the removal of an expired entry. A timer per key would cost two more changelog records for
 * every key. An hourly pass over the store costs a few microseconds per key.
 */
export interface Sweep extends Pick<Walk<never, never>, 'completed'> {
  /**
   * Checks the next entries, and deletes the expired ones. After the last entry, the sweep does nothing until `period`
   * changes; see `Walk`.
   */
  run(period: number): void
}

export interface SweepOptions<K, V> {
  readonly keysPerRun: number
  /** Called for each entry. Returns true to delete it. */
  readonly isExpired: (key: K, value: V) => boolean
}

export function sweep<K, V>(store: Pick<KeyedStore<K, V>, 'scan' | 'delete'>, { keysPerRun, isExpired }: SweepOptions<K, V>): Sweep {
  const entries = walk(store, { keysPerRun, isWanted: isExpired })
  return {
    run(period) {
      for (const [key] of entries.run(period)) store.delete(key)
    },
    get completed() {
      return entries.completed
    },
  }
}
