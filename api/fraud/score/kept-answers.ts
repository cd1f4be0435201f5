import type { FraudRequest, TxnScored } from '../../../schemas/fraud/types.ts'
import {
  answerBytes,
  answerFromBytes,
  answerKey,
  CLAIM_ANSWER,
  claimBytes,
  isClaim,
  isClaimOf,
  isSameRequest,
  KEEP_ANSWER,
  READ_ANSWER,
} from '../../../state/views/fraud/kept-answers.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { BUSY_MS } from '../busy.ts'

/**
 * Time limit of each Redis command of `claim` and `keep`. It equals the time budget of the stages `persist` and `log`
 * together. While this process is busy, the limit is extended to at most `BUSY_MS`.
 */
export const ANSWER_MS = 10

const NOTHING = ''

/** Result of `claim` and `keep`. */
export type Claimed =
  /**
   * After `claim`: no readable answer is kept, so the transaction must be scored. Another process may be scoring the
   * same request at the same time. After `keep`: the given answer is now kept.
   */
  | { readonly state: 'new' }
  | { readonly state: 'answered'; readonly scored: TxnScored }
  /** The id belongs to a different request. */
  | { readonly state: 'conflict' }
  /** Redis does not respond. */
  | { readonly state: 'away' }

/** Keeps the answers to scoring requests, so that a repeated request gets the same answer. Only `find` throws. */
export interface KeptAnswers {
  /** Binds the request's transaction id to the request, or returns the answer that is already kept. */
  claim(request: FraudRequest): Promise<Claimed>
  /**
   * Keeps an answer, unless a readable answer is already kept. In that case, the earlier answer stays and is the
   * result, with one exception: a block by the blocklist replaces any other answer to the same request.
   * @param beforeBlock is awaited before a block replaces the given earlier answer. If the process is killed before the
   * replacement, the next repetition calls the function again.
   */
  keep(scored: TxnScored, beforeBlock: (earlier: TxnScored) => Promise<unknown>): Promise<Claimed>
  /** Returns the answer to a transaction; undefined if no readable answer is kept. Throws if Redis does not respond. */
  find(transactionId: string): Promise<TxnScored | undefined>
}

export interface KeptAnswersDeps {
  readonly scripts: ViewScripts
  /** How long answers and claims are kept, ms. */
  readonly keptMs: number
  /** Called with the reason whenever Redis does not respond. */
  onFailure(reason: string): void
}

export function keptAnswers({ scripts, keptMs, onFailure }: KeptAnswersDeps): KeptAnswers {
  const limit = { timeoutMs: ANSWER_MS, busyTimeoutMs: BUSY_MS }

  async function orAway(work: () => Promise<Claimed>): Promise<Claimed> {
    try {
      return await work()
    } catch (error) {
      onFailure((error as Error).message)
      return { state: 'away' }
    }
  }

  /**
   * Interprets a kept answer. If a different version of the software wrote the answer in another format, the answer
   * cannot be read, and the transaction is scored again.
   */
  function claimed(held: Buffer, request: FraudRequest): Claimed {
    if (isClaim(held)) return { state: isClaimOf(held, request) ? 'new' : 'conflict' }
    const scored = answerFromBytes(held)
    if (scored === undefined) return { state: 'new' }
    return isSameRequest(scored.request, request) ? { state: 'answered', scored } : { state: 'conflict' }
  }

  async function keep(
    scored: TxnScored,
    beforeBlock: (earlier: TxnScored) => Promise<unknown>,
    replaced: Buffer | undefined,
  ): Promise<Claimed> {
    const { request } = scored
    const key = answerKey(request.transaction_id)
    const args = [answerBytes(scored), keptMs, replaced ?? NOTHING]
    const held = (await scripts.run(KEEP_ANSWER, [key], args, limit)) as Buffer | null
    if (held === null) return { state: 'new' }
    // If another call has replaced the answer in the meantime, `held` is the answer of that call. The same checks then
    // apply to that answer.
    const found = claimed(held, request)
    const isBlockedSince = found.state === 'answered' && isBlocklisted(scored) && !isBlocklisted(found.scored)
    if (isBlockedSince) await beforeBlock(found.scored)
    return isBlockedSince || found.state === 'new' ? await keep(scored, beforeBlock, held) : found
  }

  return {
    claim: (request) =>
      orAway(async () => {
        const key = answerKey(request.transaction_id)
        const held = (await scripts.run(CLAIM_ANSWER, [key], [claimBytes(request), keptMs], limit)) as Buffer | null
        return held === null ? { state: 'new' } : claimed(held, request)
      }),
    keep: (scored, beforeBlock) => orAway(() => keep(scored, beforeBlock, undefined)),
    async find(transactionId) {
      const held = (await scripts.run(READ_ANSWER, [answerKey(transactionId)], [])) as Buffer | null
      return held === null ? undefined : answerFromBytes(held)
    },
  }
}

function isBlocklisted({ reason }: TxnScored): boolean {
  return reason === 'blocklist_hit'
}
