import type { Answer } from './answer.ts'

/** Enough for every region and a few limits; beyond it the oldest answers go. */
const MAX_KEPT_ANSWERS = 4_096

export interface KeptAnswer {
  readonly answer: Answer
  /** The route's template, for metrics. */
  readonly route: string
  readonly until: number
}

/**
 * Answers that depend on nothing but the request target (method GET, no token), kept for a moment.
 * They are sent without routing, validation or rendering: the read path of a hot address.
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
      if (answer.reusableUntil === undefined) return
      kept.delete(target)
      kept.set(target, { answer, route, until: answer.reusableUntil })
      if (kept.size > maxAnswers) kept.delete(kept.keys().next().value!)
    },
  }
}
