import type { Region } from '../../schemas/trends/places/regions.ts'
import { trendOutput } from '../../schemas/trends/topics.ts'
import {
  type Candidate,
  type CandidateList,
  candidateText,
  type EntryText,
  readCandidates,
  readServed,
  renderEntries,
  SERVED_ENTRIES,
  type ServedList,
  withoutHidden,
} from '../../state/views/trends/trends.ts'
import type { BinaryReader, NOT_CAUGHT_UP, ViewReader } from '../../state/views/view.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../kit/answer.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp } from '../kit/readiness.ts'
import { trendsErrors } from './errors.ts'
import type { HiddenTerms } from './hidden/hidden.ts'
import { type ViewVersion, viewVersions } from './view-versions.ts'

export interface TrendLists {
  /**
   * Returns the list without personal changes. Its body depends only on the region, the view's records, the hidden
   * terms, `safe` and the limit. Throws `trends_stale`, and `not_ready` if there is no list, the view is being built or
   * the hidden terms are unknown.
   */
  plain(region: Region, limit: number, safe: boolean): Promise<Answer>
  /**
   * Returns the end of the served list's window, in epoch ms; undefined if there is no list. Throws `not_ready` while
   * the view is being built.
   */
  servedEnd(region: Region): Promise<number | undefined>
  /** Returns the candidates of the region that are not hidden, for reranking. Throws the same errors as `plain`. */
  candidates(region: Region, safe: boolean): Promise<Pick<CandidateList, 'windowEnd' | 'missing' | 'candidates'>>
  /**
   * Renders a list that was reranked for one user. Caches must not store it.
   * @param muted terms that the user has muted. The list does not name them as variants or related trends either.
   */
  personal(
    head: Omit<Shown, 'entries'>,
    region: Region,
    candidates: readonly Candidate[],
    safe: boolean,
    muted: ReadonlySet<string>,
  ): Answer
}

export interface TrendListsOptions {
  readonly reader: ViewReader & Pick<BinaryReader, 'hmgetBuffer'>
  readonly facts: Pick<Facts, 'partitionOf'>
  readonly hidden: HiddenTerms
  /** Epoch ms. */
  now(): number
}

/** Maximum age of a served list: docs/services/trends.md#freshness */
export const STALE_AFTER_MS = 180_000
/**
 * How far in the future the window of a posted list may end. Until the window ends, the posted list takes the place of
 * the pipeline's lists.
 */
export const MAX_POSTED_AHEAD_MS = 300_000
/** How much the clocks of two processes may differ. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000
/**
 * How far the end of a list's window may be ahead of the clock. If a list is further ahead, the clock of its worker was
 * wrong. The age of the list is then unknown, and no other list replaces it until the clock reaches the end of its
 * window.
 */
const MAX_AHEAD_MS = MAX_POSTED_AHEAD_MS + MAX_CLOCK_DIFFERENCE_MS
/** Lifetime of a list, as stated in `ttl_s`. Caches may keep the list for this time. */
const LIST_TTL_SECONDS = 60
/**
 * Maximum number of regions whose parsed candidates are cached. The candidates of all regions would need about 200 MB.
 */
const MAX_CANDIDATE_LISTS = 64
/**
 * Maximum number of rendered answers that are kept per region and value of `safe`, one for each value of `limit`. Most
 * callers use the default limit. Answers of 8 KB for all 30 limits of all regions would need up to 260 MB.
 */
const MAX_RENDERED_LIMITS = 4
const MS_PER_SECOND = 1_000
/** Retry-After for a missing or stale list. After this time, there may be a newer list. */
const RETRY_AFTER_SECONDS = 5
const STILL_BUILT = { message: 'The trends view is still being built. Try again shortly.', retryAfter: RETRY_AFTER_SECONDS }

/** The entries of a list, best first, without hidden entries. */
type Shown = Pick<ServedList, 'windowEnd' | 'missing' | 'entries'>

interface Rendering {
  readonly list: ServedList
  /** The revision of the hidden terms. */
  readonly revision: number
  readonly shown: Promise<Shown>
  readonly byLimit: Map<number, Answer>
}

/** A list, with the position of its partition in the view when the list was read. Failed reads are not cached. */
interface Reading<T> {
  readonly version: ViewVersion
  readonly list: Promise<T>
}

export function trendLists({ reader, facts, hidden, now }: TrendListsOptions): TrendLists {
  const partitionOf = (woeid: number) => facts.partitionOf(trendOutput, woeid)
  const view = viewVersions(reader, now)
  const served = new Map<number, Reading<ServedList>>()
  const candidateLists = new Map<number, Reading<CandidateList>>()
  /**
   * Rendered answers by region. They are reused until the list or the hidden terms change. Lists with and without
   * unsafe terms are rendered separately.
   */
  const renderings = { all: new Map<number, Rendering>(), safe: new Map<number, Rendering>() }

  /**
   * Returns the current list. Reads the partition's position before the list, so that the next check detects a list
   * that is written between the two reads.
   */
  async function current<T>(
    woeid: number,
    readings: Map<number, Reading<T>>,
    read: (partition: number, known: T | undefined) => Promise<T | undefined | typeof NOT_CAUGHT_UP>,
  ): Promise<{ list: T; version: ViewVersion }> {
    const partition = partitionOf(woeid)
    const version = caughtUp(await view.of(partition), STILL_BUILT)
    const last = readings.get(woeid)
    if (last !== undefined && version !== undefined && last.version === version) return { list: await last.list, version }
    const reading = { version, list: readAfter(last, (known) => read(partition, known)) }
    readings.delete(woeid)
    readings.set(woeid, reading)
    reading.list.catch(() => {
      if (readings.get(woeid) === reading) readings.delete(woeid)
    })
    return { list: await reading.list, version }
  }

  async function readAfter<T>(last: Reading<T> | undefined, read: (known: T | undefined) => Promise<T | undefined | typeof NOT_CAUGHT_UP>) {
    const known = await last?.list.catch(() => undefined)
    return present(await read(known))
  }

  function currentServed(woeid: number) {
    return current(woeid, served, (partition, known) => readServed(reader, partition, woeid, known))
  }

  async function currentCandidates(woeid: number): Promise<CandidateList> {
    const { list } = await current(woeid, candidateLists, (partition, known) => readCandidates(reader, partition, woeid, known))
    if (candidateLists.size > MAX_CANDIDATE_LISTS) candidateLists.delete(candidateLists.keys().next().value!)
    return list
  }

  function renderingOf(list: ServedList, { woeid }: Region, safe: boolean): Rendering {
    const byRegion = renderings[safe ? 'safe' : 'all']
    const last = byRegion.get(woeid)
    if (last?.list === list && last.revision === hidden.revision) return last
    const rendering = { list, revision: hidden.revision, shown: shownOf(list, woeid, safe), byLimit: new Map() }
    byRegion.set(woeid, rendering)
    rendering.shown.catch(() => {
      if (byRegion.get(woeid) === rendering) byRegion.delete(woeid)
    })
    return rendering
  }

  /** Removes hidden entries and names. If an entry is hidden, the best visible candidates replace the whole list. */
  async function shownOf(list: ServedList, woeid: number, safe: boolean): Promise<Shown> {
    const hides = hidden.test(safe)
    if (hides === undefined) return list
    const entries = list.entries.flatMap((entry) => withoutHidden(entry, hides) ?? [])
    if (entries.length === list.entries.length) return { ...list, entries }
    let whole = await currentCandidates(woeid).catch(unlessMissing)
    if (whole !== undefined && Number(whole.version) < Number(list.version)) {
      // The candidates are older than the list. Both were read at the same known position of the partition, but a newer
      // list and its candidates were stored between the two reads.
      candidateLists.delete(woeid)
      whole = await currentCandidates(woeid).catch(unlessMissing)
    }
    // There may be no readable candidates, for example because the sink runs a different version of the software. The
    // list is then shorter.
    if (whole === undefined) return { ...list, entries }
    const { windowEnd, missing, candidates } = whole
    const shown = candidates.filter(({ term }) => !hides(term)).slice(0, SERVED_ENTRIES)
    return { windowEnd, missing, entries: shown.flatMap((candidate) => withoutHidden(candidateText(candidate), hides) ?? []) }
  }

  function rendered({ entries, ...head }: Shown, { byLimit }: Rendering, region: Region, limit: number): Answer {
    let found = byLimit.get(limit)
    if (found === undefined) {
      found = cacheableAnswer(listBody(head, region, false, entries.slice(0, limit)), { 'Content-Type': JSON_TYPE })
      if (byLimit.size >= MAX_RENDERED_LIMITS) byLimit.delete(byLimit.keys().next().value!)
      byLimit.set(limit, found)
    }
    return found
  }

  return {
    async plain(region, limit, safe) {
      const { list, version } = await currentServed(region.woeid)
      const rendering = renderingOf(list, region, safe)
      const { revision } = rendering
      const shown = await rendering.shown
      const remainingMs = freshFor(shown.windowEnd, now())
      const answer = rendered(shown, rendering, region, limit)
      const maxAge = Math.min(LIST_TTL_SECONDS, Math.floor(remainingMs / MS_PER_SECOND))
      const headers = { ...answer.headers, 'Cache-Control': `public, max-age=${maxAge}` }
      const partition = partitionOf(region.woeid)
      // When the list may be served for less than LIST_TTL_SECONDS, max-age decreases every second, so the answer is
      // reused for at most a second.
      const reusableMs = Math.max(remainingMs - LIST_TTL_SECONDS * MS_PER_SECOND, Math.min(remainingMs, MS_PER_SECOND))
      return {
        ...answer,
        headers,
        reusableUntil: now() + reusableMs,
        isReusable: () => hidden.revision === revision && view.isCurrent(partition, version),
      }
    },
    async servedEnd({ woeid }) {
      const list = caughtUp(await readServed(reader, partitionOf(woeid), woeid, undefined), STILL_BUILT)
      return list?.windowEnd
    },
    async candidates(region, safe) {
      const hides = hidden.test(safe)
      const list = await currentCandidates(region.woeid)
      freshFor(list.windowEnd, now())
      return hides === undefined ? list : { ...list, candidates: list.candidates.filter(({ term }) => !hides(term)) }
    },
    personal(head, region, candidates, safe, muted) {
      const hides = hidden.test(safe)
      const texts = candidates.map(candidateText)
      const isLeftOut = (term: string) => muted.has(term) || hides?.(term) === true
      const isWhole = hides === undefined && muted.size === 0
      const shown = isWhole ? texts : texts.flatMap((text) => withoutHidden(text, isLeftOut) ?? [])
      return { status: 200, headers: { 'Content-Type': JSON_TYPE, ...PRIVATE }, body: listBody(head, region, true, shown) }
    },
  }
}

/** Builds the body by concatenating text, because the writer of the view has already rendered the entries. */
function listBody(head: Omit<Shown, 'entries'>, region: Region, personalized: boolean, entries: readonly EntryText[]): string {
  const { windowEnd, missing } = head
  const location = JSON.stringify({ woeid: region.woeid, name: region.name })
  const asOf = new Date(windowEnd).toISOString()
  return `{"as_of":"${asOf}","ttl_s":${LIST_TTL_SECONDS},"location":${location},"complete":${missing === 0},"missing_partitions":${missing},"personalized":${personalized},"trends":${renderEntries(entries)}}`
}

/**
 * Returns undefined if the list is missing, and rethrows every other error. While the view is being built, the list may
 * exist, so this error is rethrown, too.
 */
function unlessMissing(error: unknown): undefined {
  if (!(error instanceof ApiError && error.definition === errors.not_ready && error.options !== STILL_BUILT)) throw error
}

function present<T>(found: T | undefined | typeof NOT_CAUGHT_UP): T {
  const list = caughtUp(found, STILL_BUILT)
  if (list === undefined)
    throw new ApiError(errors.not_ready, { message: 'This location has no list yet. Try again shortly.', retryAfter: RETRY_AFTER_SECONDS })
  return list
}

/** Returns true if a list is too old to be served, or if its age is unknown because its window ends too late. */
export function isStale(windowEnd: number, now: number): boolean {
  return now - windowEnd > STALE_AFTER_MS || windowEnd > now + MAX_AHEAD_MS
}

/**
 * Returns how much longer the list may be served, in ms. Throws `trends_stale` if the list is too old, or if its age is
 * unknown.
 */
function freshFor(windowEnd: number, now: number): number {
  if (isStale(windowEnd, now)) throw new ApiError(trendsErrors.trends_stale, { retryAfter: RETRY_AFTER_SECONDS })
  return windowEnd + STALE_AFTER_MS - now
}
