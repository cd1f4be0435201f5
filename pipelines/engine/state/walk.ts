import type { KeyedStore } from '../../../state/stores/keyed-store.ts'

/** Visits all entries of a store, in small steps that cover the whole store over time. */
export interface Walk<K, V> {
  /**
   * Visits the next entries, and returns those for which `isWanted` returns true. After the last entry, the walk does
   * nothing until `period` changes, so that a small store is not decoded over and over. Entries for which `isWanted`
   * begins to return true in the meantime are found in the next pass. A pass may miss entries that were added since the
   * last commit.
   */
  run(period: number): (readonly [K, V])[]
  /** The period in which the last complete pass began; undefined if there was none. */
  readonly completed: number | undefined
}

export interface WalkOptions<K, V> {
  readonly keysPerRun: number
  /** Called for each entry. Returns true if `run` should return the entry. */
  readonly isWanted: (key: K, value: V) => boolean
}

export function walk<K, V>(store: Pick<KeyedStore<K, V>, 'scan'>, { keysPerRun, isWanted }: WalkOptions<K, V>): Walk<K, V> {
  let next: K | undefined
  /** The period in which the last pass began. */
  let walked: number | undefined
  let completed: number | undefined

  function run(period: number): (readonly [K, V])[] {
    if (next === undefined && walked === period) return []
    if (next === undefined) walked = period
    const wanted: (readonly [K, V])[] = []
    const from = next
    next = undefined
    let seen = 0
    for (const entry of store.scan({ gte: from, limit: keysPerRun + 1, omitsNew: true })) {
      if (seen++ === keysPerRun) {
        next = entry[0]
        break
      }
      if (isWanted(entry[0], entry[1])) wanted.push(entry)
    }
    if (next === undefined) completed = walked
    return wanted
  }

  return {
    run,
    get completed() {
      return completed
    },
  }
}
