import { DRAWN_TWEETS, LEAST_DRAWN } from './drawn-tweets.ts'
import { byRank, FOLDED_TERMS, type RankedTerm } from './ranking.ts'

/**
 * Overlap above which two terms count as one topic, because they share most of their tweets:
 * docs/services/trends.md#topics
 */
const FOLD_ABOVE = 0.5
/** Maximum number of related topics per topic. */
const MAX_RELATED = 3

/** The terms of a region that form one trend. */
export interface Topic {
  /** The best of these terms. */
  readonly leader: RankedTerm
  /** The other terms, best first. */
  readonly variants: readonly RankedTerm[]
  /** Up to `MAX_RELATED` leaders of other topics that share tweets with this one, most similar first. */
  readonly related: readonly RankedTerm[]
  /**
   * Of the leader's drawn tweets, the one that was also drawn for the most other terms among the best. Null if the
   * leader has no drawn tweet or is not among the best `FOLDED_TERMS`.
   */
  readonly typicalTweet: bigint | null
}

/** One of the best terms of the region. */
interface Member {
  readonly term: RankedTerm
  /** The hashes of the term's drawn tweets, in ascending order. */
  readonly hashes: readonly number[]
  /** The drawn tweets, in the order of their hashes. */
  readonly tweets: readonly DrawnTweet[]
  readonly variants: RankedTerm[]
  readonly related: Related[]
}

/** A tweet that was drawn for at least one of the best terms. */
interface DrawnTweet {
  /** Number of terms for which the tweet was drawn. */
  terms: number
  /** The leaders among these terms. */
  readonly leaders: Member[]
}

interface Related {
  readonly member: Member
  readonly overlap: number
}

/**
 * Groups the best terms of a region into topics. Terms of a topic share most of their tweets. A term joins the leader
 * with which it has the largest overlap. All variants of a topic therefore share tweets with the term that names the
 * topic, and not just with each other.
 * @param ranked best first
 * @returns the topics, best first; each term below the best `FOLDED_TERMS` is a topic of its own
 */
export function foldTopics(ranked: readonly RankedTerm[]): Topic[] {
  const leaders: Member[] = []
  const drawn = new Map<number, DrawnTweet>()
  for (const term of ranked.slice(0, FOLDED_TERMS)) {
    const hashes = term.details.drawnHashes()
    const tweets = hashes.map((hash) => drawnTweet(hash, drawn))
    const member: Member = { term, hashes, tweets, variants: [], related: [] }
    const similar = similarOf(member)
    const [closest] = similar
    if (closest !== undefined && closest.overlap > FOLD_ABOVE) {
      closest.member.variants.push(term)
      continue
    }
    for (const { member: other, overlap } of similar) {
      member.related.push({ member: other, overlap })
      other.related.push({ member, overlap })
    }
    leaders.push(member)
    for (const tweet of tweets) tweet.leaders.push(member)
  }
  const topics = leaders.map((leader): Topic => {
    const { term, variants, related } = leader
    return { leader: term, variants, related: mostRelated(related), typicalTweet: typicalOf(leader) }
  })
  return [...topics, ...ranked.slice(FOLDED_TERMS).map(alone)]
}

function alone(leader: RankedTerm): Topic {
  return { leader, variants: [], related: [], typicalTweet: null }
}

/** Counts one more term for which the tweet was drawn. Returns the tweet's entry. */
function drawnTweet(hash: number, drawn: Map<number, DrawnTweet>): DrawnTweet {
  const known = drawn.get(hash)
  if (known !== undefined) {
    known.terms++
    return known
  }
  const added = { terms: 1, leaders: [] }
  drawn.set(hash, added)
  return added
}

/** Returns the leaders that have enough tweets in common with a term, most similar first. */
function similarOf({ hashes, tweets }: Member): Related[] {
  if (hashes.length === 0) return []
  const common = new Map<Member, number>()
  for (const { leaders } of tweets) for (const leader of leaders) common.set(leader, (common.get(leader) ?? 0) + 1)
  const similar: Related[] = []
  for (const [member, count] of common) {
    if (count < LEAST_DRAWN) continue
    const overlap = overlapOf(hashes, member.hashes)
    if (overlap > 0) similar.push({ member, overlap })
  }
  return similar.sort(bySimilarity)
}

/**
 * Compares by similarity, and then by rank. The second comparison is necessary because the leaders are not found in the
 * order of their ranks.
 */
function bySimilarity(a: Related, b: Related): number {
  return b.overlap - a.overlap || byRank(a.member.term, b.member.term)
}

/**
 * Estimates the overlap of two terms: the share of the more frequent term's tweets that contain both. Only hashes up to
 * the lower of the two terms' last drawn hashes are compared, because one of the terms has no drawn tweets beyond it.
 * @returns 0 if the terms have too few tweets in common
 */
function overlapOf(a: readonly number[], b: readonly number[]): number {
  const last = Math.min(lastOf(a), lastOf(b))
  let common = 0
  let i = 0
  let j = 0
  while (i < a.length && a[i] <= last && j < b.length && b[j] <= last) {
    if (a[i] === b[j]) {
      common++
      i++
      j++
    } else if (a[i] < b[j]) i++
    else j++
  }
  while (i < a.length && a[i] <= last) i++
  while (j < b.length && b[j] <= last) j++
  return common < LEAST_DRAWN ? 0 : common / Math.max(i, j)
}

/**
 * Returns the highest hash up to which a term's drawn tweets are complete. If fewer tweets were drawn than the
 * maximum, no tweet of the term was left out, so there is no upper limit.
 */
function lastOf(hashes: readonly number[]): number {
  return hashes.length < DRAWN_TWEETS ? Infinity : hashes[hashes.length - 1]
}

function mostRelated(related: Related[]): RankedTerm[] {
  return related
    .sort(bySimilarity)
    .slice(0, MAX_RELATED)
    .map(({ member }) => member.term)
}

/** Returns the most typical tweet. Of equally typical tweets, it returns the one with the lowest hash. */
function typicalOf({ term, tweets }: Member): bigint | null {
  let typical = -1
  for (const [i, tweet] of tweets.entries()) if (typical < 0 || tweet.terms > tweets[typical].terms) typical = i
  return typical < 0 ? null : term.details.drawnTweet(typical)
}
