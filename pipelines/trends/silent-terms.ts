import { termKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { type Context, sweep } from '../engine/index.ts'
import type { frequentTerms } from './frequent-terms.ts'
import type { LearnedBaselines } from './learned-baselines.ts'
import { CellCounts } from './packed-cells.ts'
import { type RareTerm, stateIn } from './rare-terms.ts'
import type { standings } from './standings.ts'
import { type AllTermStores, isFrequent, TERMS_PER_PAUSE } from './stored-terms.ts'
import type { TermFilter } from './term-filter.ts'
import { DAY_HOURS, isSilent } from './term-state.ts'
import { TextBytes } from './term-table.ts'
import { hourOfMinute } from './time.ts'
import type { PublishVolume, volumeRounds } from './volumes.ts'

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
 * Number of steps of the sweeps per renewal. Other work continues between two steps. At this rate, each hour's sweep
 * covers up to four million terms per partition, at 1-8 µs each.
 */
const STEPS_PER_RENEWAL = 16
const BASELINES_PER_STEP = 1_000

export interface SilentTermsOptions extends AllTermStores {
  readonly learned: LearnedBaselines
  readonly rounds: ReturnType<typeof volumeRounds>
  readonly filter: TermFilter
  readonly frequentCounts: Pick<ReturnType<typeof frequentTerms>, 'noteFrequent' | 'keepBaselines' | 'publishTo'>
}

/**
 * Deletes terms and baselines that have been silent for long enough, in hourly sweeps. The sweeps visit all terms, so
 * they also build the next filter, publish volumes that a restart has left unpublished, and renew the bounds of terms
 * with a baseline.
 */
export function silentTerms({ rare, frequent, baselines, learned, rounds, filter, frequentCounts }: SilentTermsOptions) {
  const allCounts = new CellCounts()
  const textBytes = new TextBytes()
  /** The hour of the last report. A term is deleted if it was silent for the 24 hours before this hour. */
  let reportedHour = 0
  /** The frequent terms that the current step of the sweep has visited and kept. */
  let swept: [key: string, state: TermState][] = []
  let publishSwept: PublishVolume = () => {}
  const rareSweep = sweep(rare, { keysPerRun: TERMS_PER_PAUSE, isExpired: isRareExpired })
  const frequentSweep = sweep(frequent, { keysPerRun: TERMS_PER_PAUSE, isExpired: isTermExpired })
  const baselineSweep = sweep(baselines, {
    keysPerRun: BASELINES_PER_STEP,
    // A term that has returned has a state again. Its baseline is kept although `seen_hour` is old, because the
    // baseline is updated from the state only when the hour is final.
    isExpired: (key, { seen_hour }) => seen_hour < reportedHour - BASELINE_KEPT_HOURS && frequent.findKey(key) === undefined,
  })

  /** Visits the next terms and baselines. Must be called after each report. */
  function* run(hour: number, leaders: Pick<ReturnType<typeof standings>, 'offerAgain'>, ctx: Context): Generator<void, void, void> {
    reportedHour = hour
    for (let step = 0; step < STEPS_PER_RENEWAL; step++) {
      runStep(leaders, ctx)
      yield
    }
  }

  function runStep(leaders: Pick<ReturnType<typeof standings>, 'offerAgain'>, ctx: Context): void {
    const walkedBefore = rareSweep.completed
    rareSweep.run(reportedHour)
    if (rareSweep.completed !== walkedBefore) filter.walkCompleted()
    publishSwept = frequentCounts.publishTo(ctx)
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

  /** Replaces the row of a silent term with the term's baselines and a note that the term is frequent. */
  function keepLearned(term: string, row: RareTerm): void {
    frequentCounts.noteFrequent(term, hourOfMinute(allCounts.newest))
    frequentCounts.keepBaselines(term, row)
    for (const { woeid } of row.tracked) {
      const state = stateIn(row, woeid)
      if (state !== undefined) learned.learnHours(termKey(woeid, term), state, reportedHour)
    }
  }

  function isTermExpired(key: string, state: TermState): boolean {
    rounds.catchUp(key, state, publishSwept)
    if (!isSilent(state, reportedHour)) {
      swept.push([key, state])
      return false
    }
    learned.learnHours(key, state, reportedHour)
    return true
  }

  return { run }
}
