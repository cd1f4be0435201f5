import type { KeyedStore } from '../../../state/stores/keyed-store.ts'

/**
 * Removes expired entries from a store, in small steps that cover the whole store over time. A sweep is necessary
 * because no record triggers the removal of an expired entry, and a timer per key would cost two more changelog records
 * for every rare term and user. An hourly pass over the store costs a few microseconds per key.
 */
export interface Sweep {
  /**
   * Checks the next keys. After the last key, the sweep does nothing until `period` changes, so that a small store is
   * not decoded over and over. Entries that expire in the meantime are found in the next pass.
   */
  run(period: number): void
  /** The period in which the last complete pass began; undefined if there was none. */
  readonly completed: number | undefined
}

export interface SweepOptions<K, V> {
  readonly keysPerRun: number
  /** Called for each entry. Returns true to delete it. */
  readonly isExpired: (key: K, value: V) => boolean
}

export function sweep<K, V>(store: Pick<KeyedStore<K, V>, 'scan' | 'delete'>, options: SweepOptions<K, V>): Sweep {
  let next: K | undefined
  /** The period in which the last pass began. */
  let walked: number | undefined
  let completed: number | undefined

  function run(period: number): void {
    if (next === undefined && walked === period) return
    if (next === undefined) walked = period
    const expired: K[] = []
    const from = next
    next = undefined
    let seen = 0
    for (const [key, value] of store.scan({ gte: from, limit: options.keysPerRun + 1, omitsNew: true })) {
      if (seen++ === options.keysPerRun) {
        next = key
        break
      }
      if (options.isExpired(key, value)) expired.push(key)
    }
    for (const key of expired) store.delete(key)
    if (next === undefined) completed = walked
  }

  return {
    run,
    get completed() {
      return completed
    },
  }
}
