import { byteWriter } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey } from '../../schemas/trends/term.ts'
import type { SavedStandings, TermTracked, TrendRareVolumes, TrendVolume, VolumesRound } from '../../schemas/trends/types.ts'
import type { ByteSpan, Context, EncodedBody, KeyedStore, RecordContext, TimeContext, Topic } from '../engine/index.ts'
import type { TermCell } from './cells.ts'
import { frequentTerms } from './frequent-terms.ts'
import { learnedBaselines } from './learned-baselines.ts'
import { CellCounts, packedCells, unpackCells } from './packed-cells.ts'
import { candidatesPerPartition, drawnPerPartition } from './ranking.ts'
import { compacted, isRare, mustCompact, RareRow, RareTerm, type TrackedRegion, UNTRACKED, writeTracked } from './rare-terms.ts'
import { type AddedVolumes, addedVolumes, rareVolumes } from './rare-volumes.ts'
import { type RegionReport, reportWriter } from './region-report.ts'
import { regionsOf } from './regions-of.ts'
import { savedStandings } from './saved-standings.ts'
import { silentTerms } from './silent-terms.ts'
import { standings } from './standings.ts'
import { type AllTermStores, isFrequent, storedTerms } from './stored-terms.ts'
import { type CellsOfTerm, type TermCells, withCells } from './term-cells.ts'
import { termFilter } from './term-filter.ts'
import { DAY_HOURS } from './term-state.ts'
import { hourOfMinute, lastMinuteOf, MINUTE_MS, MINUTES_PER_HOUR, WINDOW_MINUTES } from './time.ts'
import { volumeRounds } from './volumes.ts'

export interface TermWindowsOptions extends AllTermStores {
  readonly volumesRound: KeyedStore<string, VolumesRound>
  readonly standings: KeyedStore<string, SavedStandings>
  readonly reports: Topic<number, RegionReport>
  readonly volumes: Topic<string, TrendVolume>
  readonly rareVolumes: Topic<number, TrendRareVolumes | EncodedBody>
}

/** The row of a new term, to which cells are appended. */
const NEW_ROW: ByteSpan = { buffer: UNTRACKED, start: 0, end: UNTRACKED.length }
const NOWHERE: readonly TrackedRegion[] = []
/**
 * If the cells of more terms than this are waiting, they are counted immediately instead of before the next commit. The
 * cells of a term change a few states of under a kilobyte, so a commit then stays below the size of a RocksDB memtable.
 * A partition of real tweets gets a few hundred of these cells per second.
 */
const MAX_WAITING = 4_000
/**
 * Cells are combined only if at most this share of them is left afterwards. The terms of the demo have most of their
 * cells in different places, and decoding and encoding these cells would hardly make the rows smaller.
 */
const COMBINED_SHARE = 3 / 4

/** Creates the second stage: one partition of all terms, with their windows, baselines and volumes in all regions. */
export function termWindows(options: TermWindowsOptions) {
  const { rare, frequent, baselines, reports } = options
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
  const emptyReports = reportWriter()
  /**
   * Cells of frequent terms that have been received but not counted yet. They are counted together, because each change
   * of a state decodes and encodes it, and a popular term receives cells from every partition of the first stage.
   */
  let waiting: CellsOfTerm[] = []
  let lastOffset = -1
  let standing: ReturnType<typeof standings> | undefined
  const saved = savedStandings(options.standings)
  const learned = learnedBaselines(options)
  const frequentCounts = frequentTerms({ ...options, learned, rounds, filter, leadersOf })
  const sweeps = silentTerms({ ...options, learned, rounds, filter, frequentCounts })

  /** Returns the standings. The first call creates them, because the number of partitions is not known earlier. */
  function leadersOf({ partitions }: Context): ReturnType<typeof standings> {
    standing ??= standings({
      terms: stored,
      usualOf: learned.usualOf,
      prefetchUsual: learned.prefetchUsual,
      perRegion: candidatesPerPartition(partitions),
      drawnPerRegion: drawnPerPartition(partitions),
      saved,
    })
    return standing
  }

  function prefetchCells({ terms }: TermCells): void {
    for (const { record, termStart, termEnd, hash } of terms) {
      if (filter.mayHave(hash)) rare.prefetchBytes(record, termStart, termEnd, hash)
    }
  }

  function prefetchTracked({ woeid }: TermTracked, term: string): void {
    // A listed term was read when the list was made, so it is still in memory. Nearly all listed terms are rare
    // and need no other row.
    const row = rare.findKey(term)
    if (row === undefined || rareRow.read(row).frequentHour === 0) return
    const key = termKey(woeid, term)
    frequent.prefetch(key)
    baselines.prefetch(key)
  }

  function count({ terms }: TermCells, ctx: RecordContext<number>): void {
    const added = addedVolumes()
    const oldest = (leadersOf(ctx).hour - DAY_HOURS) * MINUTES_PER_HOUR
    for (const each of terms) {
      const { record, start, end } = each
      const isOld = changedCounts.read(record, start, end).oldest < oldest
      const counted = isOld ? withoutOld(each, oldest, added) : each
      if (counted !== undefined) countTerm(counted, ctx, added)
    }
    rareRows.send(ctx)
    rareRows.sendAdded(added, `${ctx.partition}-${ctx.offset}`, ctx)
    lastOffset = ctx.offset
    if (waiting.length > MAX_WAITING) countWaiting(ctx)
  }

  /**
   * Leaves out the contributions from before `oldest`. A term without contributions since `oldest` is deleted together
   * with its counts of earlier minutes, so the volumes of these minutes may no longer be known. Contributions from
   * before `oldest` therefore only add to the history, and no list includes them.
   * @returns the other contributions, which `changedCounts` then contains; undefined if there are none
   */
  function withoutOld(counted: CellsOfTerm, oldest: number, added: AddedVolumes): CellsOfTerm | undefined {
    const { term, record, start, end } = counted
    const kept: TermCell[] = []
    for (const cell of unpackCells(record, start, end)) {
      const minutes: number[] = []
      const counts: number[] = []
      for (const [i, minute] of cell.minutes.entries()) {
        if (minute < oldest) for (const woeid of regionsOf(cell.place)) added.add(term, woeid, minute, cell.counts[i])
        else {
          minutes.push(minute)
          counts.push(cell.counts[i])
        }
      }
      if (minutes.length > 0) kept.push({ ...cell, minutes, counts })
    }
    if (kept.length === 0) return undefined
    const rest = withCells(counted, kept)
    changedCounts.read(rest.record, rest.start, rest.end)
    return rest
  }

  /** Counts a term whose contributions are in `changedCounts`. */
  function countTerm(counted: CellsOfTerm, ctx: RecordContext<number>, added: AddedVolumes): void {
    const { record, termStart, termEnd, hash } = counted
    const row = filter.mayHave(hash) ? rare.find(record, termStart, termEnd, hash) : undefined
    if (row === undefined) countFirst(counted, ctx, added)
    else if (rareRow.read(row).frequentHour === 0) countAgain(counted, row, ctx, added)
    else waiting.push(counted)
  }

  function countWaiting(ctx: Context): void {
    if (waiting.length === 0) return
    const terms = waiting
    waiting = []
    const added = addedVolumes()
    frequentCounts.count(terms, ctx, added)
    rareRows.sendAdded(added, `${ctx.partition}-through-${lastOffset}`, ctx)
  }

  function countFirst(counted: CellsOfTerm, ctx: Context, added: AddedVolumes): void {
    const { record, start, end, hash } = counted
    if (!isRare(changedCounts)) {
      frequentCounts.becomeFrequent(counted.term, undefined, unpackCells(record, start, end), ctx, added)
      return
    }
    putCells(counted, NEW_ROW, UNTRACKED.length, changedCounts)
    filter.add(hash)
    rareRows.add(counted, changedCounts, changedCounts, ctx)
    leadersOf(ctx).addedRare(counted, changedCounts)
  }

  /**
   * Adds contributions to a rare term.
   * @param row the row of the term; `rareRow` must already have read it
   */
  function countAgain(counted: CellsOfTerm, row: Readonly<ByteSpan>, ctx: Context, added: AddedVolumes): void {
    const { record, start, end } = counted
    const { trackedHour, cellsAt } = rareRow
    const leaders = leadersOf(ctx)
    allCounts.read(row.buffer, cellsAt, row.end).readMore(record, start, end)
    if (!isRare(allCounts) || leaders.isKnownSince(trackedHour)) {
      const { term } = counted
      frequentCounts.becomeFrequent(term, rare.get(term), unpackCells(record, start, end), ctx, added)
      return
    }
    putCells(counted, row, cellsAt, allCounts)
    rareRows.add(counted, allCounts, changedCounts, ctx)
    leaders.changedRare(counted, allCounts, changedCounts)
  }

  /**
   * Adds cells to those of a row: appends them or, if the row has become large and many of its cells have the same
   * place, combines them.
   * @param row the row of a new term, or the row that `rareRow` has read
   * @param cellsAt the position at which the row's cells begin, after its data about regions
   * @param counts the counts of the row's cells together with those of the added cells
   */
  function putCells(counted: CellsOfTerm, row: Readonly<ByteSpan>, cellsAt: number, counts: CellCounts): void {
    const { record, termStart, termEnd, hash, start, end } = counted
    if (mustCompact(row.end - cellsAt, end - start) && counts.distinctPlaces <= counts.cells * COMBINED_SHARE) {
      const all = packedCells(row.buffer, cellsAt, row.end) + packedCells(record, start, end)
      rare.put(counted.term, new RareTerm(0, compacted(all), row === NEW_ROW ? NOWHERE : rareRow.tracked))
      return
    }
    rowBytes.length = 0
    rowBytes.reserve(row.end - row.start + end - start)
    rowBytes.length = copyBytes(row.buffer, row.start, row.end, rowBytes.buffer, 0)
    rowBytes.length = copyBytes(record, start, end, rowBytes.buffer, rowBytes.length)
    rare.write(record, termStart, termEnd, hash, { buffer: rowBytes.buffer, start: 0, end: rowBytes.length })
  }

  /** Starts the baseline of a term in the region whose list it has entered. */
  function track({ woeid, window_end }: TermTracked, ctx: RecordContext<string>): void {
    countWaiting(ctx)
    const term = ctx.key
    const row = rare.findKey(term)
    if (row === undefined) return
    const hour = hourOfMinute(lastMinuteOf(window_end))
    if (rareRow.read(row).frequentHour === 0) {
      trackRare(term, row, { woeid, hour }, ctx)
      return
    }
    frequentCounts.track(term, woeid, hour, ctx)
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
    if (all.some(({ hour }) => leaders.isKnownSince(hour))) {
      frequentCounts.becomeFrequent(term, new RareTerm(0, packedCells(row.buffer, cellsAt, row.end), all), [], ctx)
      return
    }
    rowBytes.length = 0
    writeTracked(all, rowBytes)
    rowBytes.reserve(row.end - cellsAt)
    rowBytes.length = copyBytes(row.buffer, cellsAt, row.end, rowBytes.buffer, rowBytes.length)
    rare.writeKey(term, { buffer: rowBytes.buffer, start: 0, end: rowBytes.length })
    leaders.trackedRare(term, region)
  }

  function* report(windowEnd: number, ctx: TimeContext): Generator<void, void, void> {
    countWaiting(ctx)
    const lastMinute = lastMinuteOf(windowEnd)
    const leaders = leadersOf(ctx)
    // Late records of the missing partitions may still change hours that would otherwise be final.
    if (ctx.missing === 0) learned.windowClosed(windowEnd)
    const ranking = { windowEnd, partition: ctx.partition, missing: ctx.missing }
    yield* leaders.prepare(lastMinute, (term) => {
      const row = rare.get(term)
      if (row === undefined || isFrequent(row)) return
      // A silent term can wait, because no window will contain it before its next contribution.
      if (allCounts.readRow(row.packed).newest > lastMinute - WINDOW_MINUTES) frequentCounts.becomeFrequent(term, row, [], ctx)
    })
    // Regions without tweets get an empty list. Normally, the partitions divide these regions among themselves. If a
    // partition is missing, every partition sends a report about every region, so that every list can be marked as
    // incomplete.
    const isOwn = (index: number) => ctx.missing > 0 || index % ctx.partitions === ctx.partition
    const silent = new Set(regions.filter((_, index) => isOwn(index)).map((region) => region.woeid))
    yield* leaders.rank(ranking, function emitRegion(report) {
      silent.delete(report.woeid)
      ctx.emit(reports, report.woeid, report)
    })
    for (const woeid of silent) ctx.emit(reports, woeid, emptyReports.finish({ ...ranking, woeid, restNew: 0, restKnown: 0 }))
    if (windowEnd % MINUTE_MS === 0) rounds.publish(frequentCounts.publishTo(ctx))
    yield* sweeps.run(hourOfMinute(lastMinute), leaders, ctx)
  }

  return {
    prefetchCells,
    prefetchTracked,
    count,
    track,
    beforeCommit(ctx: Context): void {
      countWaiting(ctx)
      rounds.publish(frequentCounts.publishTo(ctx), true)
      saved.saveChanges()
      filter.commitBegins()
    },
    report,
  }
}
