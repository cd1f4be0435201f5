import { waitUntil } from '../../deploy/local/wait.ts'
import { pathOf, regions } from '../../schemas/trends/places/regions.ts'
import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import type { Random } from '../../tools/random/random.ts'
import { countedTerms } from './counted-terms.ts'

/** A served list, reduced to the fields that are compared. */
interface ListBody {
  readonly as_of: string
  readonly trends: readonly { readonly name: string; readonly tweet_volume: number; readonly variants: readonly string[] }[]
}

/** The world is the region with the most terms, so it is always compared. */
const WORLD = 1
const MINUTE_MS = 60_000
const WINDOW_MINUTES = 60
/** A list appears within half a minute after the end of its window, or within a few minutes on a busy machine. */
const LIST_TIMEOUT_MS = 300_000
/**
 * Number of maps over which the terms of a region are spread. The world may have ten million terms in an hour, so a
 * single map would come close to the maximum of 2^24 keys.
 */
const MAPS = 8
const MAX_SHOWN = 5

/** Draws the regions whose lists are compared: the world and `count` - 1 others. */
export function drawnRegions(count: number, random: Random): number[] {
  const left = regions.flatMap(({ woeid }) => (woeid === WORLD ? [] : woeid))
  const drawn = [WORLD]
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1))
  return drawn
}

/**
 * Waits until all of the given regions have a list for the same window, which ends at or after `end`.
 * @param end time by which all tweets were acknowledged, epoch ms
 * @returns the lists by region
 */
export async function servedLists(api: string, woeids: readonly number[], end: number): Promise<ReadonlyMap<number, ListBody>> {
  const lists = new Map<number, ListBody>()
  async function areOfOneWindow(): Promise<boolean> {
    for (const woeid of woeids) {
      const response = await fetch(`${api}/v1/trends?woeid=${woeid}`)
      const text = await response.text()
      if (!response.ok) return false
      lists.set(woeid, JSON.parse(text) as ListBody)
    }
    const windows = new Set([...lists.values()].map(({ as_of }) => Date.parse(as_of)))
    return windows.size === 1 && [...windows][0] >= end
  }
  await waitUntil(areOfOneWindow, { what: 'lists for one window after the last tweet', timeoutMs: LIST_TIMEOUT_MS })
  return lists
}

/**
 * Counts terms directly from the tweets, by the documented rules, and compares the served lists with these counts. Call
 * this function only while no term has a baseline. A baseline takes at least three hours to form, and without
 * baselines, terms are ranked by their counts.
 * @param groups all tweets that were sent, in groups. All tweets of a user are in the same group
 * @returns descriptions of the faults, at most five per region
 */
export function listFaults(lists: ReadonlyMap<number, ListBody>, groups: Iterable<Iterable<Tweet>>): string[] {
  const [first] = lists.values()
  const last = Math.ceil(Date.parse(first.as_of) / MINUTE_MS) - 1
  const counts = new Map([...lists.keys()].map((woeid) => [woeid, termCounts()]))
  for (const group of groups) {
    const byUser = new Map<string, number>()
    for (const tweet of group) {
      const minute = Math.floor(tweet.created_at / MINUTE_MS)
      const path = pathOf(tweet.woeid) ?? []
      for (const term of countedTerms(tweet, byUser)) {
        if (minute <= last - WINDOW_MINUTES || minute > last) continue
        for (const each of path) counts.get(each)?.add(term)
      }
    }
  }
  return [...lists].flatMap(([woeid, list]) => faultsOf(list, counts.get(woeid)!).map((fault) => `${woeid}: ${fault}`))
}

function faultsOf({ trends }: ListBody, counts: TermCounts): string[] {
  const faults: string[] = []
  const listed = new Set<string>()
  for (const [index, { name, tweet_volume, variants }] of trends.entries()) {
    const term = foldTerm(name) ?? ''
    for (const each of [term, ...variants.map((variant) => foldTerm(variant) ?? '')]) listed.add(each)
    const counted = counts.of(term)
    if (counted !== tweet_volume) faults.push(`${name} has ${tweet_volume} instead of ${counted} tweets`)
    if (index > 0 && trends[index - 1].tweet_volume < tweet_volume) faults.push(`${name} is below a term with fewer tweets`)
  }
  const least = trends.at(-1)?.tweet_volume ?? 0
  for (const [term, count] of counts.above(least)) if (!listed.has(term)) faults.push(`${term} with ${count} tweets is missing`)
  return faults.slice(0, MAX_SHOWN)
}

interface TermCounts {
  add(term: string): void
  of(term: string): number
  /** Yields the terms with more than `least` tweets. */
  above(least: number): Iterable<readonly [string, number]>
}

function termCounts(): TermCounts {
  const maps = Array.from({ length: MAPS }, () => new Map<string, number>())
  const mapOf = (term: string) => maps[(term.length + term.charCodeAt(term.length - 1)) % MAPS]
  return {
    add(term) {
      const map = mapOf(term)
      map.set(term, (map.get(term) ?? 0) + 1)
    },
    of: (term) => mapOf(term).get(term) ?? 0,
    *above(least) {
      for (const map of maps) for (const entry of map) if (entry[1] > least) yield entry
    },
  }
}
