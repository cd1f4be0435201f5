import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermState, TrendVolume } from '../../schemas/trends/types.ts'
import type { Context, Topic } from '../engine/index.ts'
import { addCell, type TermCell } from './cells.ts'
import type { LearnedBaselines } from './learned-baselines.ts'
import { unpackCells } from './packed-cells.ts'
import { emptyStateIn, frequentNote, type RareTerm } from './rare-terms.ts'
import type { AddedVolumes } from './rare-volumes.ts'
import { regionsOf } from './regions-of.ts'
import type { standings } from './standings.ts'
import type { AllTermStores } from './stored-terms.ts'
import type { CellsOfTerm } from './term-cells.ts'
import type { TermFilter } from './term-filter.ts'
import { applyCounts, type MinuteListener, newTermState } from './term-state.ts'
import { TextBytes } from './term-table.ts'
import { hourOfMinute, MINUTE_MS } from './time.ts'
import type { PublishVolume, volumeRounds } from './volumes.ts'

export interface FrequentTermsOptions extends AllTermStores {
  readonly volumes: Topic<string, TrendVolume>
  readonly learned: LearnedBaselines
  readonly rounds: ReturnType<typeof volumeRounds>
  readonly filter: TermFilter
  readonly leadersOf: (ctx: Context) => ReturnType<typeof standings>
}

/**
 * Number of terms whose states are read at once. A term can have up to 551 states, but most terms have only a few. The
 * states must stay in the cache until they are used.
 */
const TERMS_READ = 256

/** The states of a term, with their keys, by region. */
type RegionStates = Map<number, { readonly key: string; readonly state: TermState }>

/**
 * Counts frequent terms. A frequent term has one state for each region in which it was counted, and a note in the store
 * of rare terms.
 */
export function frequentTerms({ rare, frequent, baselines, volumes, learned, rounds, filter, leadersOf }: FrequentTermsOptions) {
  const textBytes = new TextBytes()

  /**
   * Makes a rare or new term frequent, with all its contributions. No region has a state or a stored baseline for the
   * term yet.
   * @param row the row of the rare term; undefined if the term is new
   * @param more contributions that the row does not contain
   * @param added see `addToRegions`
   */
  function becomeFrequent(term: string, row: RareTerm | undefined, more: readonly TermCell[], ctx: Context, added?: AddedVolumes): void {
    const known = row?.cells ?? []
    noteFrequent(term, newestHourOf([...known, ...more]))
    const states: RegionStates = new Map()
    const stateOf = (key: string) => (row === undefined ? newTermState() : emptyStateIn(row, woeidOfKey(key)))
    if (row !== undefined) keepBaselines(term, row)
    addToRegions(term, known, states, stateOf, ctx)
    addToRegions(term, more, states, stateOf, ctx, added)
    putStates(term, states, ctx)
  }

  /**
   * Creates an empty baseline for each region that tracks a rare term. The row has all contributions since the tracking
   * began, so the baselines can still learn these hours.
   */
  function keepBaselines(term: string, { tracked }: RareTerm): void {
    for (const { woeid, hour } of tracked) {
      noteFrequent(term, hour)
      learned.begin(termKey(woeid, term), hour)
    }
  }

  /**
   * Notes that a term is frequent, and that a contribution arrived or a region began to track the term in this hour.
   * Does nothing if the note already contains this hour or a later one.
   */
  function noteFrequent(term: string, hour: number): void {
    if (hour <= (rare.get(term)?.frequentHour ?? 0)) return
    rare.put(term, frequentNote(hour))
    filter.add(textBytes.of(term).hash)
  }

  /** Adds contributions to frequent terms. A term may occur several times. */
  function countFrequent(terms: readonly CellsOfTerm[], ctx: Context, added: AddedVolumes): void {
    const byTerm = new Map<string, CellsOfTerm[]>()
    for (const counted of terms) {
      const { term } = counted
      const known = byTerm.get(term)
      if (known === undefined) byTerm.set(term, [counted])
      else known.push(counted)
    }
    const all = [...byTerm]
    for (let from = 0; from < all.length; from += TERMS_READ) countSome(all.slice(from, from + TERMS_READ), ctx, added)
  }

  /**
   * Counts the contributions to some terms. Reads all states in one batch. Then reads, in another batch, the baselines
   * of terms that have no state in a region. Single reads would cost ten times as much.
   */
  function countSome(terms: readonly [term: string, parts: readonly CellsOfTerm[]][], ctx: Context, added: AddedVolumes): void {
    const counted = terms.map(([term, parts]) => ({ term, cells: combinedCells(parts) }))
    const keys: string[] = []
    for (const { term, cells } of counted) for (const woeid of regionsOfCells(cells)) keys.push(termKey(woeid, term))
    for (const key of keys) frequent.prefetch(key)
    frequent.loadPrefetched()
    // `findKey` does not decode the states, which are large.
    for (const key of keys) if (frequent.findKey(key) === undefined) baselines.prefetch(key)
    baselines.loadPrefetched()
    for (const { term, cells } of counted) {
      noteFrequent(term, newestHourOf(cells))
      const states: RegionStates = new Map()
      addToRegions(term, cells, states, storedState, ctx, added)
      putStates(term, states, ctx)
    }
  }

  function storedState(key: string): TermState {
    return frequent.get(key) ?? learned.returningTerm(key)
  }

  /**
   * Adds contributions to the states of a frequent term in all regions.
   * @param states the states of the term's regions so far; `stateOf` returns the states of further regions
   * @param added receives the contributions to minutes that have left a state; undefined if these contributions are
   * already published
   */
  function addToRegions(
    term: string,
    cells: readonly TermCell[],
    states: RegionStates,
    stateOf: (key: string) => TermState,
    ctx: Context,
    added?: AddedVolumes,
  ): void {
    const publish = publishTo(ctx)
    let woeid = 0
    let key = ''
    let state: TermState
    // One object serves all regions, because this code runs for every change of every frequent term.
    const listener: MinuteListener = {
      added: (minute, volume) => rounds.changed(key, state, minute, volume, publish),
      tooOld: (minute, count) => added?.add(term, woeid, minute, count),
      droppingHour: (hour) => learned.learnHours(key, state, hour),
      dropping: (minute, volume) => rounds.dropping(key, state, minute, volume, publish),
    }
    for (const cell of cells) {
      const path = regionsOf(cell.place)
      for (let level = 0; level < path.length; level++) {
        woeid = path[level]
        let entry = states.get(woeid)
        if (entry === undefined) {
          const newKey = termKey(woeid, term)
          entry = { key: newKey, state: stateOf(newKey) }
          states.set(woeid, entry)
        }
        key = entry.key
        state = entry.state
        applyCounts(state, cell, level, listener)
      }
    }
  }

  function putStates(term: string, states: RegionStates, ctx: Context): void {
    const leaders = leadersOf(ctx)
    for (const [woeid, { key, state }] of states) {
      learned.learnHours(key, state)
      frequent.put(key, state)
      leaders.changed(woeid, term, state, key)
    }
  }

  /** Starts the baseline of a frequent term in the region whose list it has entered. */
  function track(term: string, woeid: number, hour: number, ctx: Context): void {
    const key = termKey(woeid, term)
    const state = frequent.get(key)
    if (state === undefined || state.tracked_hour !== 0) return
    noteFrequent(term, hour)
    learned.track(key, state, hour)
    frequent.put(key, state)
    leadersOf(ctx).changed(woeid, term, state, key)
  }

  function publishTo(ctx: Context): PublishVolume {
    return function publishVolume(key, minute, volume) {
      ctx.emit(volumes, key, { woeid: woeidOfKey(key), term: termOfKey(key), minute: minute * MINUTE_MS, volume })
    }
  }

  return { becomeFrequent, count: countFrequent, track, noteFrequent, keepBaselines, publishTo }
}

/** Returns the cells of a term from several records, combined by place. */
function combinedCells(parts: readonly CellsOfTerm[]): TermCell[] {
  const [first, ...others] = parts
  const cells = unpackCells(first.record, first.start, first.end)
  if (others.length === 0) return cells
  const byPlace = new Map(cells.map((cell) => [cell.place, cell]))
  for (const { record, start, end } of others) {
    for (const cell of unpackCells(record, start, end)) {
      const same = byPlace.get(cell.place)
      if (same === undefined) byPlace.set(cell.place, cell)
      else addCell(same, cell)
    }
  }
  return [...byPlace.values()]
}

function regionsOfCells(cells: readonly TermCell[]): Iterable<number> {
  if (cells.length === 1) return regionsOf(cells[0].place)
  const regions = new Set<number>()
  for (const { place } of cells) for (const woeid of regionsOf(place)) regions.add(woeid)
  return regions
}

function newestHourOf(cells: readonly TermCell[]): number {
  return hourOfMinute(Math.max(...cells.flatMap(({ minutes }) => minutes)))
}
