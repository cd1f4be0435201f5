import { foldTerm } from '../../schemas/trends/term.ts'
import type { InterestProfile } from '../../state/views/trends/interests.ts'
import type { Candidate } from '../../state/views/trends/trends.ts'

type Ranked = Pick<Candidate, 'term' | 'score' | 'variants'>

/** Weight of topics that the profile does not mention. It is lower than 1, so that a topic with the weight 1 rises. */
const UNWEIGHTED = 0.5

/**
 * Ranks the candidates for one user (docs/services/trends.md#personalized-lists). Skips excluded topics and sorts the
 * other candidates by score × topic weight. Ties keep their order. A candidate is also excluded if one of its variants
 * is excluded. If the candidate's own term has no weight, the highest weight of its variants counts.
 */
export function rerank<C extends Ranked>(candidates: readonly C[], profile: InterestProfile, limit: number): C[] {
  const weights = new Map<string | undefined, number>()
  for (const topic in profile.topic_weights) weights.set(foldTerm(topic), profile.topic_weights[topic])
  const muted = mutedTerms(profile)
  const best: { candidate: C; score: number }[] = []
  for (const candidate of candidates) {
    if (muted.has(candidate.term) || candidate.variants.some((term) => muted.has(term))) continue
    const score = candidate.score * weightOf(candidate, weights)
    // Once the list is full, most candidates are skipped here. They arrive in descending order of score, and few of
    // them have a weight that is high enough to bring them into the list.
    if (best.length === limit && score <= best[limit - 1].score) continue
    let at = best.length === limit ? limit - 1 : best.length
    while (at > 0 && best[at - 1].score < score) at--
    best.splice(at, 0, { candidate, score })
    if (best.length > limit) best.pop()
  }
  return best.map(({ candidate }) => candidate)
}

/** Returns the terms of the topics that the user has excluded. */
export function mutedTerms({ exclude_topics }: Pick<InterestProfile, 'exclude_topics'>): ReadonlySet<string> {
  return new Set(exclude_topics.flatMap((topic) => foldTerm(topic) ?? []))
}

function weightOf({ term, variants }: Ranked, weights: ReadonlyMap<string | undefined, number>): number {
  const own = weights.get(term)
  if (own !== undefined || variants.length === 0) return own ?? UNWEIGHTED
  const others = variants.flatMap((variant) => weights.get(variant) ?? [])
  return others.length === 0 ? UNWEIGHTED : Math.max(...others)
}
