import { normalised } from '../../../schemas/normalised.ts'
import { foldTerm, MAX_TERM_CODE_POINTS } from '../../../schemas/trends/term.ts'
import { blockedTerms } from '../../../schemas/trends/topics.ts'
import type { BlockedTerm } from '../../../schemas/trends/types.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { type BoundRoute, bind } from '../../kit/route.ts'
import type { BlockedTerms } from './blocked-terms.ts'
import { blockedJson } from './model.ts'
import { blockTermRoute, listBlockedRoute, unblockTermRoute } from './routes.ts'

export interface BlockingDeps {
  readonly facts: Pick<Facts, 'publish'>
  readonly blocked: Pick<BlockedTerms, 'entries' | 'until'>
  /** Epoch ms. */
  now(): number
}

/** Returns the routes that administrators use to block terms. */
export function blockingRoutes({ facts, blocked, now }: BlockingDeps): BoundRoute[] {
  /**
   * Returns whether this process has read a change of a term.
   * @param wanted the block that the change stores; undefined if the change removes the block
   */
  function hasRead(term: string, wanted: BlockedTerm | undefined): boolean {
    try {
      return blocked.entries.get(term)?.blocked_at === wanted?.blocked_at
    } catch (error) {
      // The change is stored even if this process has not read the blocked terms yet.
      if (error instanceof ApiError && error.definition === errors.not_ready) return false
      throw error
    }
  }

  return [
    bind(blockTermRoute, async ({ params, body, caller }) => {
      const term = folded(params.term)
      const block: BlockedTerm = {
        name: normalised(params.term),
        reason: normalised(body.reason),
        blocked_by: caller!.subject,
        blocked_at: now(),
      }
      await facts.publish(blockedTerms, term, block)
      return jsonAnswer((await blocked.until(() => hasRead(term, block))) ? 200 : 202, blockedJson(term, block), PRIVATE)
    }),
    bind(unblockTermRoute, async ({ params }) => {
      const term = folded(params.term)
      await facts.publish(blockedTerms, term, null)
      await blocked.until(() => hasRead(term, undefined))
      return noContent()
    }),
    bind(listBlockedRoute, ({ query: { page, limit } }) => {
      const all = [...blocked.entries].sort(([one], [other]) => (one < other ? -1 : 1))
      const terms = all.slice((page - 1) * limit, page * limit).map(([term, block]) => blockedJson(term, block))
      return jsonAnswer(200, { terms, page, limit, total: all.length }, PRIVATE)
    }),
  ]
}

function folded(name: string): string {
  const term = foldTerm(name)
  if (term === undefined) throw invalidRequest('path.term', `is empty, longer than ${MAX_TERM_CODE_POINTS} characters, or contains a NUL`)
  return term
}
