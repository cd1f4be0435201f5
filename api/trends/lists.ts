import type { Region } from '../../schemas/places/regions.ts'
import { trendOutput } from '../../schemas/topics.ts'
import {
  type Candidate,
  type CandidateList,
  candidateText,
  type EntryText,
  readCandidates,
  readServed,
  renderEntries,
  type ServedList,
} from '../../state/views/trends.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../kit/answer.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { shortCache } from '../kit/short-cache.ts'
import { trendsErrors } from './errors.ts'

export interface TrendLists {
  /** The plain list; its bytes depend on the view's record and the limit alone. */
  plain(region: Region, limit: number): Promise<Answer>
  /** All candidates of the region, to be reranked. */
  candidates(region: Region): Promise<CandidateList>
}

export interface TrendListsOptions {
  readonly reader: ViewReader
  readonly facts: Pick<Facts, 'partitionOf'>
  /** Epoch ms. */
  now(): number
  /** From 0 to 1. */
  random(): number
}

/** Older lists are never served (specification A, targets). */
const STALE_AFTER_MS = 180_000
/** What a list says about its own lifetime, and how long others may keep it. */
const LIST_TTL_SECONDS = 60
/**
 * A process looks at Redis about once per second and region, however many ask. The moments are spread: looks at all regions at once would
 * hold every other request up.
 */
const LONGEST_KEPT_MS = 1_000
const SHORTEST_KEPT_MS = 500
/** Parsed candidates of every region would be some 200 MB: keep those that are asked for. */
const MAX_CANDIDATE_LISTS = 64
const MAX_SERVED_LISTS = 1_024
const MS_PER_SECOND = 1_000
/** Clients that are told a list is missing or stale come back when the next one may be there. */
const RETRY_AFTER_SECONDS = 5

interface Rendering {
  readonly list: ServedList
  readonly byLimit: Map<number, Answer>
}

/** A list, and until when it is served without another look. */
interface Loaded {
  readonly list: ServedList
  readonly until: number
}

export function trendLists({ reader, facts, now, random }: TrendListsOptions): TrendLists {
  const partitionOf = (woeid: number) => facts.partitionOf(trendOutput, woeid)
  const keptMs = () => SHORTEST_KEPT_MS + Math.floor(random() * (LONGEST_KEPT_MS - SHORTEST_KEPT_MS))
  const served = shortCache({ load: loadServed, keptMs, maxEntries: MAX_SERVED_LISTS, now })
  const candidateLists = shortCache({ load: loadCandidates, keptMs, maxEntries: MAX_CANDIDATE_LISTS, now })
  /** What was rendered for each region: a list that has not changed since the last look is not rendered again. */
  const renderings = new Map<number, Rendering>()
  const lastCandidates = new Map<number, CandidateList>()

  async function loadServed(woeid: number, until: number): Promise<Loaded> {
    const list = present(await readServed(reader, partitionOf(woeid), woeid, renderings.get(woeid)?.list))
    return { list, until }
  }

  async function loadCandidates(woeid: number): Promise<CandidateList> {
    const list = present(await readCandidates(reader, partitionOf(woeid), woeid, lastCandidates.get(woeid)))
    lastCandidates.delete(woeid)
    lastCandidates.set(woeid, list)
    if (lastCandidates.size > MAX_CANDIDATE_LISTS) lastCandidates.delete(lastCandidates.keys().next().value!)
    return list
  }

  function rendered(list: ServedList, region: Region, limit: number): Answer {
    let rendering = renderings.get(region.woeid)
    if (rendering?.list !== list) {
      rendering = { list, byLimit: new Map() }
      renderings.set(region.woeid, rendering)
    }
    let found = rendering.byLimit.get(limit)
    if (found === undefined) {
      const body = listBody(list.windowEnd, region, false, list.entries.slice(0, limit))
      found = cacheableAnswer(body, { 'Content-Type': JSON_TYPE })
      rendering.byLimit.set(limit, found)
    }
    return found
  }

  return {
    async plain(region, limit) {
      const { list, until } = await served.get(region.woeid)
      const remainingMs = freshFor(list.windowEnd, now())
      const answer = rendered(list, region, limit)
      const maxAge = Math.min(LIST_TTL_SECONDS, Math.floor(remainingMs / MS_PER_SECOND))
      const headers = { ...answer.headers, 'Cache-Control': `public, max-age=${maxAge}` }
      return { ...answer, headers, reusableUntil: Math.min(until, list.windowEnd + STALE_AFTER_MS) }
    },
    async candidates(region) {
      const list = await candidateLists.get(region.woeid)
      freshFor(list.windowEnd, now())
      return list
    },
  }
}

/** A list as it was ranked for one user: nobody else may see it. */
export function personalAnswer(windowEnd: number, region: Region, candidates: readonly Candidate[]): Answer {
  const body = listBody(windowEnd, region, true, candidates.map(candidateText))
  return { status: 200, headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': 'private, no-store' }, body }
}

/** Joined text: entries were rendered by the view's writer. */
function listBody(windowEnd: number, region: Region, personalized: boolean, entries: readonly EntryText[]): string {
  const location = JSON.stringify({ woeid: region.woeid, name: region.name })
  const asOf = new Date(windowEnd).toISOString()
  return `{"as_of":"${asOf}","ttl_s":${LIST_TTL_SECONDS},"location":${location},"personalized":${personalized},"trends":${renderEntries(entries)}}`
}

function present<T>(found: T | undefined | typeof NOT_CAUGHT_UP): T {
  if (found === NOT_CAUGHT_UP)
    throw new ApiError(errors.not_ready, {
      message: 'The trends view is still being built: try again shortly.',
      retryAfter: RETRY_AFTER_SECONDS,
    })
  if (found === undefined)
    throw new ApiError(errors.not_ready, { message: 'This location has no list yet: try again shortly.', retryAfter: RETRY_AFTER_SECONDS })
  return found
}

/** Milliseconds that the list may still be served. */
function freshFor(windowEnd: number, now: number): number {
  const remainingMs = windowEnd + STALE_AFTER_MS - now
  if (remainingMs < 0) throw new ApiError(trendsErrors.trends_stale, { retryAfter: RETRY_AFTER_SECONDS })
  return remainingMs
}
