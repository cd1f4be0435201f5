import { DRAWN_TWEETS, drawHash, LEAST_DRAWN } from './drawn-tweets.ts'
import { byRank, FOLDED_TERMS, type RankedTerm } from './ranking.ts'

/**
 * Overlap above which two terms count as one topic, because they share most of their tweets:
 * docs/services/trends.md#topics
 */
const FOLD_ABOVE = 0.5
/** Number of related trends that an entry names. */
const MAX_RELATED = 3

/** The terms of a region that form one trend. */
export interface Topic {
  /** The best of them. */
  readonly leader: RankedTerm
  /** The others, best first. */
  readonly variants: readonly RankedTerm[]
  /** The leaders of other topics that share tweets with this one, most similar first. */
  readonly related: readonly RankedTerm[]
  /** The drawn tweet that contains the most other terms; null if no tweet was drawn. */
  readonly typicalTweet: bigint | null
}

/** One of the best terms of the region. */
interface Member {
  readonly term: RankedTerm
  readonly drawn: readonly bigint[]
  /** The hashes of the term's drawn tweets, in ascending order. */
  readonly hashes: readonly number[]
  readonly variants: RankedTerm[]
  readonly related: Related[]
}

interface Related {
  readonly member: Member
  readonly overlap: number
}

/**
 * Groups the best terms of a region into topics. Terms of a topic share most of their tweets. A term joins the leader
 * with which it has the greatest overlap, so all variants of a topic share tweets with the term that names it, and not
 * just with each other.
 *   @param ranked best first
 *   @returns the topics and the terms below the best terms, best first
 */
export function foldTopics(ranked: readonly RankedTerm[]): Topic[] {
  const leaders: Member[] = []
  /** For each hash of a drawn tweet, the leaders that drew this tweet, and the number of all terms that drew it. */
  const leadersWith = new Map<number, Member[]>()
  const termsWith = new Map<number, number>()
  for (const term of ranked.slice(0, FOLDED_TERMS)) {
    const { drawn } = term.details
    const member: Member = { term, drawn, hashes: drawn.map(drawHash), variants: [], related: [] }
    for (const hash of member.hashes) termsWith.set(hash, (termsWith.get(hash) ?? 0) + 1)
    const similar = similarOf(member, leadersWith)
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
    for (const hash of member.hashes) {
      const known = leadersWith.get(hash)
      if (known === undefined) leadersWith.set(hash, [member])
      else known.push(member)
    }
  }
  const topics = leaders.map((leader): Topic => {
    const { term, variants, related } = leader
    return { leader: term, variants, related: mostRelated(related), typicalTweet: typicalOf(leader, termsWith) }
  })
  return [...topics, ...ranked.slice(FOLDED_TERMS).map(alone)]
}

function alone(leader: RankedTerm): Topic {
  return { leader, variants: [], related: [], typicalTweet: null }
}

/** Returns the leaders that have enough tweets in common with a term, most similar first. */
function similarOf({ hashes }: Member, leadersWith: ReadonlyMap<number, readonly Member[]>): Related[] {
  const common = new Map<Member, number>()
  for (const hash of hashes) for (const leader of leadersWith.get(hash) ?? []) common.set(leader, (common.get(leader) ?? 0) + 1)
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
 * the last hash of either draw are compared, because beyond that hash the other term's tweets were not drawn.
 *   @returns 0 if the terms have too few tweets in common
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

/** If a draw is not full, it contains all tweets of the term. */
function lastOf(hashes: readonly number[]): number {
  return hashes.length < DRAWN_TWEETS ? Infinity : hashes[hashes.length - 1]
}

function mostRelated(related: Related[]): RankedTerm[] {
  return related
    .sort(bySimilarity)
    .slice(0, MAX_RELATED)
    .map(({ member }) => member.term)
}

/** Returns the most typical tweet. Of equally typical tweets, it returns the one that is drawn first. */
function typicalOf({ drawn, hashes }: Member, termsWith: ReadonlyMap<number, number>): bigint | null {
  let typical: bigint | null = null
  let most = 0
  for (const [i, hash] of hashes.entries()) {
    const terms = termsWith.get(hash) ?? 0
    if (terms <= most) continue
    most = terms
    typical = drawn[i]
  }
  return typical
}
