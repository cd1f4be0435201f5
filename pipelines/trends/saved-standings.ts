import type { SavedContenders, SavedStandings } from '../../schemas/trends/types.ts'
import type { KeyedStore } from '../engine/index.ts'
import type { Floor } from './contenders.ts'

export type Kind = 'fresh' | 'known'

interface LoadedContenders {
  floor: Floor | undefined
  readonly terms: Set<string>
}

export interface LoadedStandings {
  readonly minute: number
  readonly coveredHour: number
  readonly regions: ReadonlyMap<number, Readonly<Record<Kind, LoadedContenders>>>
  readonly soonKnown: ReadonlyMap<number, Set<string>>
}

/** A region that is saved in full. */
export interface RegionToSave {
  readonly woeid: number
  readonly contenders: Readonly<Record<Kind, { readonly floor: Floor | undefined; names(): string[] }>>
}

const HEAD_KEY = 'head'
const REGION_PREFIX = 'region:'
const CHANGE_PREFIX = 'change:'
const SOON_PREFIX = 'soon:'
const NUMBER_DIGITS = 12
/**
 * When the collected names have more characters than this, they are written without waiting for the commit, so that
 * their row stays below the size limit of a record.
 */
const FULL_ROW_CHARS = 262_144
const HOUR_DIGITS = 8
const KINDS: readonly Kind[] = ['fresh', 'known']

/**
 * Saves the standings of a partition in a store, so that a worker that starts does not have to visit all terms.
 *
 * Changes are collected, and written as a row before each commit. Each region also has a row with the names of all its
 * contenders. These rows are rewritten in rounds, one region after another. At the end of a round, the changes from
 * before the round are deleted. Names of terms that are no longer contenders do no harm, because the next ranking
 * evaluates all loaded names.
 */
export function savedStandings(store: KeyedStore<string, SavedStandings>) {
  /** The changes since the last row of changes, keyed by `changeNumber`. */
  let changed = new Map<number, SavedContenders>()
  let soon = new Map<number, string[]>()
  let chars = 0
  /** The number of the next row of changes. */
  let next = 0
  let oldest = 0
  /** The value of `next` when the current round of saving all regions began. */
  let roundBegan = 0

  /** Returns the saved standings; undefined if nothing was saved. */
  function load(): LoadedStandings | undefined {
    const head = store.get(HEAD_KEY)
    if (head === undefined) return undefined
    const regions = new Map<number, Record<Kind, LoadedContenders>>()
    const since = new Map<number, number>()
    for (const [, row] of store.scan({ prefix: Buffer.from(REGION_PREFIX) })) {
      for (const part of row.contenders) {
        since.set(part.woeid, row.number)
        merge(regions, part)
      }
    }
    oldest = head.number
    next = head.number
    for (const [, row] of store.scan({ prefix: Buffer.from(CHANGE_PREFIX) })) {
      if (next === head.number) oldest = row.number
      next = row.number + 1
      for (const part of row.contenders) if (row.number >= (since.get(part.woeid) ?? 0)) merge(regions, part)
    }
    next = Math.max(next, ...since.values())
    const soonKnown = new Map<number, Set<string>>()
    for (const [key, row] of store.scan({ prefix: Buffer.from(SOON_PREFIX) })) {
      const hour = Number(key.slice(SOON_PREFIX.length, SOON_PREFIX.length + HOUR_DIGITS))
      const keys = soonKnown.get(hour) ?? new Set()
      soonKnown.set(hour, keys)
      for (const each of row.soon_known) keys.add(each)
      next = Math.max(next, row.number + 1)
    }
    roundBegan = next
    return { minute: head.minute, coveredHour: head.covered_hour, regions, soonKnown }
  }

  function merge(
    regions: Map<number, Record<Kind, LoadedContenders>>,
    { woeid, known, floor_term, floor_value, terms }: SavedContenders,
  ): void {
    const region = regions.get(woeid) ?? { fresh: { floor: undefined, terms: new Set() }, known: { floor: undefined, terms: new Set() } }
    regions.set(woeid, region)
    const part = region[known ? 'known' : 'fresh']
    if (floor_term !== '') part.floor = { term: floor_term, value: floor_value }
    for (const term of terms) part.terms.add(term)
  }

  function changeOf(woeid: number, kind: Kind): SavedContenders {
    const key = changeNumber(woeid, kind)
    let change = changed.get(key)
    if (change === undefined) {
      change = { woeid, known: kind === 'known', floor_term: '', floor_value: 0, terms: [] }
      changed.set(key, change)
    }
    return change
  }

  function saveRegion({ woeid, contenders }: RegionToSave): void {
    const parts = KINDS.map((kind): SavedContenders => {
      const part = contenders[kind]
      const { floor } = part
      changed.delete(changeNumber(woeid, kind))
      return { woeid, known: kind === 'known', floor_term: floor?.term ?? '', floor_value: floor?.value ?? 0, terms: part.names() }
    })
    store.put(`${REGION_PREFIX}${woeid}`, { ...nothing(next), contenders: parts })
  }

  function saveChanges(): void {
    chars = 0
    if (changed.size > 0) {
      store.put(changeKey(next), { ...nothing(next), contenders: [...changed.values()] })
      next++
      changed = new Map()
    }
    if (soon.size === 0) return
    for (const [hour, keys] of soon)
      store.put(`${SOON_PREFIX}${String(hour).padStart(HOUR_DIGITS, '0')}:${next}`, { ...nothing(next), soon_known: keys })
    soon = new Map()
    next++
  }

  function grew(by: number): void {
    chars += by
    if (chars > FULL_ROW_CHARS) saveChanges()
  }

  return {
    load,
    added(woeid: number, kind: Kind, term: string): void {
      changeOf(woeid, kind).terms.push(term)
      grew(term.length)
    },
    floorMoved(woeid: number, kind: Kind, { term, value }: Floor): void {
      const change = changeOf(woeid, kind)
      change.floor_term = term
      change.floor_value = value
    },
    willBeKnown(hour: number, key: string): void {
      const keys = soon.get(hour)
      if (keys === undefined) soon.set(hour, [key])
      else keys.push(key)
      grew(key.length)
    },
    areKnown(hour: number): void {
      soon.delete(hour)
      const prefix = Buffer.from(`${SOON_PREFIX}${String(hour).padStart(HOUR_DIGITS, '0')}`)
      for (const [key] of [...store.scan({ prefix })]) store.delete(key)
    },
    saveRegion,
    /**
     * Must be called when all regions have been saved since the last call. Deletes the changes that the saved regions
     * contain.
     */
    roundEnded(): void {
      for (; oldest < roundBegan; oldest++) store.delete(changeKey(oldest))
      roundBegan = next
    },
    /**
     * Saves the minute of a ranking and the last hour for which bounds are valid. Must be called after each ranking.
     */
    ranked(minute: number, coveredHour: number): void {
      store.put(HEAD_KEY, { ...nothing(oldest), minute, covered_hour: coveredHour })
    },
    /** Writes the collected changes. Must be called before each commit. */
    saveChanges,
  }
}

function changeNumber(woeid: number, kind: Kind): number {
  return 2 * woeid + Number(kind === 'known')
}

function changeKey(number: number): string {
  return `${CHANGE_PREFIX}${String(number).padStart(NUMBER_DIGITS, '0')}`
}

function nothing(number: number): SavedStandings {
  return { number, minute: 0, covered_hour: 0, contenders: [], soon_known: [] }
}
