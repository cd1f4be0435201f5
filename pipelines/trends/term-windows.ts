import { byteWriter } from '../../schemas/codec.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type {
  SavedStandings,
  TermBaseline,
  TermState,
  TermTracked,
  TrendRareVolumes,
  TrendVolume,
  VolumesRound,
} from '../../schemas/trends/types.ts'
import { eachBucket } from '../../state/stores/buckets.ts'
import {
  type ByteSpan,
  type Context,
  type EncodedBody,
  type KeyedStore,
  type PackedStore,
  type RecordContext,
  sweep,
  type TimeContext,
  type Topic,
} from '../engine/index.ts'
import { type HourlyUsual, hourlyUsual, lastUsedHour, learn, newBaseline } from './baseline.ts'
import type { TermCell } from './cells.ts'
import { CellCounts, packedCells, unpackCells } from './packed-cells.ts'
import { candidatesPerPartition, drawnPerPartition } from './ranking.ts'
import {
  compacted,
  emptyStateIn,
  frequentNote,
  isRare,
  mustCompact,
  RareRow,
  RareTerm,
  stateIn,
  type TrackedRegion,
  UNTRACKED,
  writeTracked,
} from './rare-terms.ts'
import { addedVolumes, rareVolumes } from './rare-volumes.ts'
import { type RegionReport, reportWriter } from './region-report.ts'
import { regionsOf } from './regions-of.ts'
import { savedStandings } from './saved-standings.ts'
import { standings } from './standings.ts'
import { isFrequent, storedTerms } from './stored-terms.ts'
import type { CellsOfTerm, TermCells } from './term-cells.ts'
import { termFilter } from './term-filter.ts'
import { applyCounts, DAY_HOURS, isSilent, newTermState } from './term-state.ts'
import { TextBytes } from './term-table.ts'
import { hourOfMinute, lastFinalHour, lastMinuteOf, MINUTE_MS, WINDOW_MINUTES } from './time.ts'
import { type PublishVolume, volumeRounds } from './volumes.ts'

/**
 * How long the baseline of a term without contributions is kept. After four weeks, its means have decayed to a quarter.
 */
const BASELINE_KEPT_HOURS = 4 * 7 * 24
/**
 * How long the note that a term is frequent is kept. The note outlives the term's baselines in all regions, so a term
 * without a note has no baseline either. The two additional days are necessary because a region may begin to track a
 * term while the term is still in a window, and the term's hours become final only later.
 */
const FREQUENT_KEPT_HOURS = BASELINE_KEPT_HOURS + 2 * DAY_HOURS
/**
 * Number of keys visited per renewal. At this rate, each hour's sweep covers up to four million terms per partition, at
 * 1-3 µs each.
 */
const TERMS_SWEPT = 32_768
const BASELINES_SWEPT = 16_384

export interface TermWindowsOptions {
  readonly rare: PackedStore<string, RareTerm>
  readonly frequent: PackedStore<string, TermState>
  readonly baselines: PackedStore<string, TermBaseline>
  readonly volumesRound: KeyedStore<string, VolumesRound>
  readonly standings: KeyedStore<string, SavedStandings>
  readonly reports: Topic<number, RegionReport>
  readonly volumes: Topic<string, TrendVolume>
  readonly rareVolumes: Topic<number, TrendRareVolumes | EncodedBody>
}

/** The states of a term, with their keys, by region. */
type RegionStates = Map<number, { readonly key: string; readonly state: TermState }>

type Added = ReturnType<typeof addedVolumes>

/** The row of a new term, to which cells are appended. */
const NEW_ROW: ByteSpan = { buffer: UNTRACKED, start: 0, end: UNTRACKED.length }
const NOWHERE: readonly TrackedRegion[] = []

/** Creates the second stage: one partition of all terms, with their windows, baselines and volumes in all regions. */
export function termWindows(options: TermWindowsOptions) {
  const { rare, frequent, baselines, reports, volumes } = options
  const stored = storedTerms(options)
  const rounds = volumeRounds(options.volumesRound)
  const rareRows = rareVolumes(options.rareVolumes)
  const filter = termFilter()
  /** All counts of the rare term that is being processed. */
  const allCounts = new CellCounts()
  /** The counts that the current record adds to this term. */
  const changedCounts = new CellCounts()
  const rareRow = new RareRow()
  const rowBytes = byteWriter()
  const textBytes = new TextBytes()
  const emptyReports = reportWriter()
  let standing: ReturnType<typeof standings> | undefined
  /** The hour of the last report. A term is deleted if it was silent for the 24 hours before this hour. */
  let reportedHour = 0
  /**
   * The newest hour that is final in all partitions of the first stage; 0 after a start, before the first window is
   * closed. It cannot be derived from a term's newest hour, because after a stop the partitions progress at unequal
   * speeds.
   */
  let finalHour = 0
  const saved = savedStandings(options.standings)
  /** The frequent terms that the last step of the sweep has visited. */
  let swept: [key: string, state: TermState][] = []
  let publishSwept: PublishVolume = () => {}
  const rareSweep = sweep(rare, { keysPerRun: TERMS_SWEPT, isExpired: isRareExpired })
  const frequentSweep = sweep(frequent, { keysPerRun: TERMS_SWEPT, isExpired: isTermExpired })
  const baselineSweep = sweep(baselines, {
    keysPerRun: BASELINES_SWEPT,
    isExpired: (_key, baseline) => baseline.seen_hour < reportedHour - BASELINE_KEPT_HOURS,
  })

  /** Returns the standings. The first call creates them, because the number of partitions is not known earlier. */
  function leadersOf({ partitions }: Context): ReturnType<typeof standings> {
    standing ??= standings({
      terms: stored,
      usualOf,
      prefetchUsual,
      perRegion: candidatesPerPartition(partitions),
      drawnPerRegion: drawnPerPartition(partitions),
      saved,
    })
    return standing
  }

  function usualOf(key: string, state: TermState, lastMinute: number): HourlyUsual | undefined {
    if (finalHour > state.learned_hour) {
      learnHours(key, state, finalHour)
      frequent.put(key, state)
    }
    const baseline = baselines.get(key) ?? newBaseline(state.tracked_hour)
    const last = lastUsedHour(lastMinute)
    return hourlyUsual(state.learned_hour < last ? withOpenHours(baseline, state, last) : baseline, lastMinute)
  }

  /**
   * Returns a copy of a baseline that also contains the hours that are not final yet because a partition of the first
   * stage is stuck. Without these hours, a term would seem to have been silent in them. Their counts lack the stuck
   * partition, but so do the windows with which they are compared. The stored baseline does not change.
   */
  function withOpenHours(baseline: TermBaseline, state: TermState, upTo: number): TermBaseline {
    const { hours_of_week, means, weeks } = baseline
    const copy = { ...baseline, hours_of_week: [...hours_of_week], means: [...means], weeks: [...weeks] }
    learnFrom(state, copy, upTo)
    return copy
  }

  function prefetchCells({ terms }: TermCells): void {
    for (const { record, termStart, termEnd, hash } of terms) {
      if (filter.mayHave(hash)) rare.prefetchBytes(record, termStart, termEnd, hash)
    }
  }

  function prefetchTracked({ woeid }: TermTracked, term: string): void {
    // A term of the list was read when the list was made, so it is still in memory. Nearly all listed terms are rare
    // and need no other row.
    const row = rare.findKey(term)
    if (row === undefined || rareRow.read(row).frequentHour === 0) return
    const key = termKey(woeid, term)
    frequent.prefetch(key)
    baselines.prefetch(key)
  }

  function prefetchUsual(keys: readonly string[]): void {
    for (const key of keys) baselines.prefetch(key)
    baselines.loadPrefetched()
  }

  function count({ terms }: TermCells, ctx: RecordContext<number>): void {
    const ofFrequent: CellsOfTerm[] = []
    const added = addedVolumes()
    for (const counted of terms) {
      const { record, termStart, termEnd, hash } = counted
      const row = filter.mayHave(hash) ? rare.find(record, termStart, termEnd, hash) : undefined
      if (row === undefined) countFirst(counted, ctx, added)
      else if (rareRow.read(row).frequentHour === 0) countAgain(counted, row, ctx, added)
      else ofFrequent.push(counted)
    }
    countFrequent(ofFrequent, ctx, added)
    rareRows.send(ctx)
    rareRows.sendAdded(added, `${ctx.partition}-${ctx.offset}`, ctx)
  }

  function countFirst(counted: CellsOfTerm, ctx: Context, added: Added): void {
    const { record, start, end, hash } = counted
    if (!isRare(allCounts.read(record, start, end))) {
      becomeFrequent(counted.term, undefined, unpackCells(record, start, end), ctx, added)
      return
    }
    putCells(counted, NEW_ROW, UNTRACKED.length, NOWHERE)
    filter.add(hash)
    rareRows.add(counted, allCounts, allCounts, ctx)
    leadersOf(ctx).addedRare(counted, allCounts)
  }

  /**
   * Adds contributions to a rare term.
   * @param row the row of the term; `rareRow` must already have read it
   */
  function countAgain(counted: CellsOfTerm, row: Readonly<ByteSpan>, ctx: Context, added: Added): void {
    const { record, start, end } = counted
    const { tracked, cellsAt } = rareRow
    const leaders = leadersOf(ctx)
    allCounts.read(row.buffer, cellsAt, row.end).readMore(record, start, end)
    if (!isRare(allCounts) || leaders.isKnownSomewhere(tracked)) {
      const { term } = counted
      becomeFrequent(term, rare.get(term), unpackCells(record, start, end), ctx, added)
      return
    }
    putCells(counted, row, cellsAt, tracked)
    changedCounts.read(record, start, end)
    rareRows.add(counted, allCounts, changedCounts, ctx)
    leaders.changedRare(counted, allCounts, changedCounts, tracked)
  }

  /**
   * Adds cells to the cells of a row by appending them.
   * @param cellsAt the position at which the row's cells begin, after its data about regions
   */
  function putCells(counted: CellsOfTerm, row: Readonly<ByteSpan>, cellsAt: number, tracked: readonly TrackedRegion[]): void {
    const { record, termStart, termEnd, hash, start, end } = counted
    if (mustCompact(row.end - cellsAt, end - start)) {
      const all = packedCells(row.buffer, cellsAt, row.end) + packedCells(record, start, end)
      rare.put(counted.term, new RareTerm(0, compacted(all), tracked))
      return
    }
    rowBytes.length = 0
    rowBytes.reserve(row.end - row.start + end - start)
    row.buffer.copy(rowBytes.buffer, 0, row.start, row.end)
    record.copy(rowBytes.buffer, row.end - row.start, start, end)
    rowBytes.length = row.end - row.start + end - start
    rare.write(record, termStart, termEnd, hash, { buffer: rowBytes.buffer, start: 0, end: rowBytes.length })
  }

  /**
   * Makes a rare term frequent, with all its contributions. No region has a state or a stored baseline for the term
   * yet.
   */
  function becomeFrequent(term: string, row: RareTerm | undefined, more: readonly TermCell[], ctx: Context, added?: Added): void {
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
   * Stores the baselines of a rare term. The baselines are computed from the row, because it has all contributions
   * since the term was tracked.
   */
  function keepBaselines(term: string, { tracked }: RareTerm): void {
    for (const { woeid, hour } of tracked) {
      noteFrequent(term, hour)
      baselines.put(termKey(woeid, term), newBaseline(hour))
    }
  }

  function noteFrequent(term: string, hour: number): void {
    if (hour <= (rare.get(term)?.frequentHour ?? 0)) return
    rare.put(term, frequentNote(hour))
    filter.add(textBytes.of(term).hash)
  }

  /**
   * Adds contributions to frequent terms. Reads all states in one batch, and then the baselines of terms without a
   * state, because single reads cost ten times as much.
   */
  function countFrequent(terms: readonly CellsOfTerm[], ctx: Context, added: Added): void {
    const counted = terms.map(({ term, record, start, end }) => ({ term, cells: unpackCells(record, start, end) }))
    const keys = new Set<string>()
    for (const { term, cells } of counted)
      for (const { place } of cells) for (const woeid of regionsOf(place)) keys.add(termKey(woeid, term))
    for (const key of keys) frequent.prefetch(key)
    frequent.loadPrefetched()
    for (const key of keys) if (frequent.get(key) === undefined) baselines.prefetch(key)
    baselines.loadPrefetched()
    for (const { term, cells } of counted) {
      noteFrequent(term, newestHourOf(cells))
      const states: RegionStates = new Map()
      addToRegions(term, cells, states, storedState, ctx, added)
      putStates(term, states, ctx)
    }
  }

  function storedState(key: string): TermState {
    return frequent.get(key) ?? returningTerm(key)
  }

  /**
   *   Adds contributions to the states of a frequent term in all regions.
   *   @param states the states of the term's regions so far; `stateOf` returns the states of further regions
   *   @param added receives the contributions to minutes that have left a state; undefined if these contributions are
   *   already published
   */
  function addToRegions(
    term: string,
    cells: readonly TermCell[],
    states: RegionStates,
    stateOf: (key: string) => TermState,
    ctx: Context,
    added?: Added,
  ): void {
    const publish = publishTo(ctx)
    for (const cell of cells) {
      const path = regionsOf(cell.place)
      for (let level = 0; level < path.length; level++) {
        const woeid = path[level]
        let entry = states.get(woeid)
        if (entry === undefined) {
          const key = termKey(woeid, term)
          entry = { key, state: stateOf(key) }
          states.set(woeid, entry)
        }
        const { key, state } = entry
        applyCounts(state, cell, level, {
          added: (minute, volume) => rounds.changed(key, state, minute, volume, publish),
          tooOld: (minute, count) => added?.add(term, woeid, minute, count),
          droppingHour: (hour) => learnHours(key, state, hour),
          dropping: (minute, volume) => rounds.dropping(key, state, minute, volume, publish),
        })
      }
    }
  }

  function putStates(term: string, states: RegionStates, ctx: Context): void {
    const leaders = leadersOf(ctx)
    for (const [woeid, { key, state }] of states) {
      learnHours(key, state, finalHour)
      frequent.put(key, state)
      leaders.changed(woeid, term, state, key)
    }
  }

  /** Returns the state of a term that had none. The term may have a baseline from earlier days. */
  function returningTerm(key: string): TermState {
    const state = newTermState()
    const baseline = baselines.get(key)
    // The baseline begins where the first state began, because that state had learned all of its hours before it
    // expired.
    state.tracked_hour = baseline?.since_hour ?? 0
    state.learned_hour = baseline?.seen_hour ?? 0
    return state
  }

  function learnHours(key: string, state: TermState, upTo: number): void {
    if (state.tracked_hour === 0 || upTo <= state.learned_hour) return
    const baseline = baselines.get(key) ?? newBaseline(state.tracked_hour)
    if (learnFrom(state, baseline, upTo)) baselines.put(key, baseline)
    state.learned_hour = upTo
  }

  /**
   * Adds the hours up to `upTo` that the baseline has not learned.
   * @returns whether there were any
   */
  function learnFrom(state: TermState, baseline: TermBaseline, upTo: number): boolean {
    const from = Math.max(state.learned_hour + 1, state.tracked_hour)
    let learned = false
    eachBucket(state.hours, (hour, volume) => {
      if (hour < from || hour > upTo) return
      learn(baseline, hour, volume)
      learned = true
    })
    return learned
  }

  /** Starts the baseline of a term in the region whose list it has entered. */
  function track({ woeid, window_end }: TermTracked, ctx: RecordContext<string>): void {
    const term = ctx.key
    const row = rare.findKey(term)
    if (row === undefined) return
    const hour = hourOfMinute(lastMinuteOf(window_end))
    if (rareRow.read(row).frequentHour === 0) {
      trackRare(term, row, { woeid, hour }, ctx)
      return
    }
    const key = termKey(woeid, term)
    const state = frequent.get(key)
    if (state === undefined || state.tracked_hour !== 0) return
    noteFrequent(term, hour)
    const baseline = baselines.get(key) ?? newBaseline(hour)
    baselines.put(key, baseline)
    state.tracked_hour = baseline.since_hour
    state.learned_hour = Math.max(state.learned_hour, hour - 1)
    frequent.put(key, state)
    leadersOf(ctx).changed(woeid, term, state, key)
  }

  /**
   * Begins to track a rare term. The term stays rare until its baseline is needed, because most listed terms of quiet
   * regions occur only once.
   */
  function trackRare(term: string, row: Readonly<ByteSpan>, region: TrackedRegion, ctx: Context): void {
    const { tracked, cellsAt } = rareRow
    if (tracked.some(({ woeid }) => woeid === region.woeid)) return
    if (!allCounts.read(row.buffer, cellsAt, row.end).countsIn(region.woeid)) return
    const leaders = leadersOf(ctx)
    const all = [...tracked, region]
    if (leaders.isKnownSomewhere(all)) {
      becomeFrequent(term, new RareTerm(0, packedCells(row.buffer, cellsAt, row.end), all), [], ctx)
      return
    }
    rowBytes.length = 0
    writeTracked(all, rowBytes)
    rowBytes.reserve(row.end - cellsAt)
    rowBytes.length += row.buffer.copy(rowBytes.buffer, rowBytes.length, cellsAt, row.end)
    rare.writeKey(term, { buffer: rowBytes.buffer, start: 0, end: rowBytes.length })
    leaders.trackedRare(term, region)
  }

  /** Reports the window that ends at `windowEnd`. */
  function* report(windowEnd: number, ctx: TimeContext): Generator<void, void, void> {
    const lastMinute = lastMinuteOf(windowEnd)
    const publish = publishTo(ctx)
    const leaders = leadersOf(ctx)
    reportedHour = hourOfMinute(lastMinute)
    // Late records of the missing partitions may still change hours that would otherwise be final.
    if (ctx.missing === 0) finalHour = Math.max(finalHour, lastFinalHour(windowEnd))
    const ranking = { windowEnd, partition: ctx.partition, missing: ctx.missing }
    yield* leaders.prepare(lastMinute, (term) => {
      const row = rare.get(term)
      if (row === undefined || isFrequent(row)) return
      // A silent term can wait, because no window will contain it before its next contribution.
      if (allCounts.readRow(row.packed).newest > lastMinute - WINDOW_MINUTES) becomeFrequent(term, row, [], ctx)
    })
    // Regions without tweets get an empty list. Normally, the partitions divide these regions among themselves. If a
    // partition is missing, every partition reports to every region, so that every list can be marked as incomplete.
    const isOwn = (index: number) => ctx.missing > 0 || index % ctx.partitions === ctx.partition
    const silent = new Set(regions.filter((_, index) => isOwn(index)).map((region) => region.woeid))
    yield* leaders.rank(ranking, function emitRegion(report) {
      silent.delete(report.woeid)
      ctx.emit(reports, report.woeid, report)
    })
    for (const woeid of silent) ctx.emit(reports, woeid, emptyReports.finish({ ...ranking, woeid, restNew: 0, restKnown: 0 }))
    if (windowEnd % MINUTE_MS === 0) rounds.publish(publish)
    const walkedBefore = rareSweep.completed
    rareSweep.run(reportedHour)
    if (rareSweep.completed !== walkedBefore) filter.walkCompleted()
    publishSwept = publish
    frequentSweep.run(reportedHour)
    leaders.offerAgain(swept, frequentSweep.completed)
    swept = []
    if (frequentSweep.completed !== undefined) rounds.caughtUp()
    baselineSweep.run(reportedHour)
  }

  function isRareExpired(term: string, row: RareTerm): boolean {
    filter.walked(textBytes.of(term).hash)
    if (isFrequent(row)) return row.frequentHour < reportedHour - FREQUENT_KEPT_HOURS
    if (hourOfMinute(allCounts.readRow(row.packed).newest) >= reportedHour - DAY_HOURS) return false
    if (row.tracked.length === 0) return true
    keepLearned(term, row)
    return false
  }

  /** Replaces the row of a silent term with the term's baselines and a note that the term has baselines. */
  function keepLearned(term: string, row: RareTerm): void {
    noteFrequent(term, hourOfMinute(allCounts.newest))
    keepBaselines(term, row)
    for (const { woeid } of row.tracked) {
      const state = stateIn(row, woeid)
      if (state !== undefined) learnHours(termKey(woeid, term), state, reportedHour)
    }
  }

  function isTermExpired(key: string, state: TermState): boolean {
    rounds.catchUp(key, state, publishSwept)
    if (!isSilent(state, reportedHour)) {
      swept.push([key, state])
      return false
    }
    learnHours(key, state, reportedHour)
    return true
  }

  function publishTo(ctx: Context): PublishVolume {
    return function publishVolume(key, minute, volume) {
      ctx.emit(volumes, key, { woeid: woeidOfKey(key), term: termOfKey(key), minute: minute * MINUTE_MS, volume })
    }
  }

  return {
    prefetchCells,
    prefetchTracked,
    count,
    track,
    beforeCommit(ctx: Context): void {
      rounds.publish(publishTo(ctx), true)
      saved.saveChanges()
      filter.commitBegins()
    },
    report,
  }
}

function newestHourOf(cells: readonly TermCell[]): number {
  return hourOfMinute(Math.max(...cells.flatMap(({ minutes }) => minutes)))
}
