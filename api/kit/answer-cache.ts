import type { Answer } from './answer.ts'

/**
 * Maximum number of answers. When there are more, the cache evicts the oldest answer. The limit is enough for the
 * trends of every region with a few different values of the parameter `limit`.
 */
const MAX_KEPT_ANSWERS = 4_096
/**
 * Maximum length of a request target whose answer is kept. Callers can add meaningless parameters, and without this
 * limit they could fill the memory with long targets.
 */
const MAX_TARGET_CHARACTERS = 256

export interface KeptAnswer {
  readonly answer: Answer
  /** The template of the route. Metrics use it as the route's label. */
  readonly route: string
  /** Epoch ms. */
  readonly until: number
}

/**
 * Caches answers to GET requests from anonymous callers, at most until their `reusableUntil`. Such answers depend only
 * on the request target. A hit skips routing, validation and rendering, so popular URLs are fast.
 */
export interface AnswerCache {
  get(target: string, now: number): KeptAnswer | undefined
  keep(target: string, route: string, answer: Answer): void
}

export function answerCache(maxAnswers: number = MAX_KEPT_ANSWERS): AnswerCache {
  const kept = new Map<string, KeptAnswer>()
  return {
    get(target, now) {
      const found = kept.get(target)
      if (found === undefined) return undefined
      if (found.until > now && found.answer.isReusable?.() !== false) return found
      kept.delete(target)
      return undefined
    },
    keep(target, route, answer) {
      if (answer.reusableUntil === undefined || target.length > MAX_TARGET_CHARACTERS) return
      kept.delete(target)
      kept.set(target, { answer, route, until: answer.reusableUntil })
      if (kept.size > maxAnswers) kept.delete(kept.keys().next().value!)
    },
  }
}
