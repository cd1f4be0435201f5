import type { Log } from '../../../runtime/runtime.ts'
import type { MatchNotification } from '../../../schemas/matches/types.ts'
import type { MatchToTell, MatchVerdict } from '../../../state/views/matches/push-check.ts'
import { DELIVERED, type DeliveryOutcome, type DeliveryTarget, type HttpSender } from '../../engine/index.ts'
import { pushId, pushMessage } from './message.ts'

/** Sends a push, or writes it to the log. */
export type SendPush = (push: MatchNotification) => Promise<DeliveryOutcome>

export interface PushTargetOptions {
  readonly send: SendPush
  /** Checks whether the two users may still be notified of each other. Rejects while Redis does not answer. */
  readonly check: (match: MatchToTell) => Promise<MatchVerdict>
  /** Returns the partition of the view that contains a user. */
  readonly partitionOf: (userId: string) => number
  /** Epoch ms. */
  readonly now: () => number
}

/** Maximum number of concurrent pushes per process. A push spends most of its time waiting for the receiver. */
export const PUSH_CONCURRENCY = 64

/**
 * For this long after a match, a missing profile does not mean that the profile was deleted. Redis may have lost its
 * last second of writes, and the sink of the view takes a while to notice this.
 */
const PROFILES_LATE_MS = 60_000

/**
 * Creates the target that delivers pushes. It drops a push if a block or the end of the match has since separated the
 * users, or if one of them has deleted their profile.
 */
export function pushTarget({ send, check, partitionOf, now }: PushTargetOptions): DeliveryTarget {
  const placed = (id: string) => ({ id, partition: partitionOf(id) })

  async function deliver(push: MatchNotification): Promise<DeliveryOutcome> {
    const match = { user: placed(push.user_id), other: placed(push.other_id), matchedAt: push.matched_at }
    let verdict: MatchVerdict
    try {
      verdict = await check(match)
    } catch (error) {
      return { outcome: 'failed', code: 'redis_unavailable', message: (error as Error).message }
    }
    switch (verdict) {
      case 'open':
        return await send(push)
      case 'severed':
        return { outcome: 'dropped', code: verdict }
      case 'deleted':
        return now() - push.matched_at < PROFILES_LATE_MS ? VIEW_BEHIND : { outcome: 'dropped', code: verdict }
      case 'unknown':
        return VIEW_BEHIND
    }
  }

  return {
    name: 'match pushes',
    concurrency: PUSH_CONCURRENCY,
    deliver: async ({ value }) => (value === null ? { outcome: 'dropped', code: 'empty' } : await deliver(value as MatchNotification)),
  }
}

const VIEW_BEHIND: DeliveryOutcome = {
  outcome: 'failed',
  code: 'view_behind',
  message: 'the view of users may be behind, so it is uncertain whether the match still exists',
}

/** Returns a function that sends pushes to the operator's webhook. */
export function webhookPushes(sender: HttpSender, secrets: readonly Buffer[], now: () => number): SendPush {
  return (push) => sender.send(pushMessage(push, secrets, now()))
}

/** Returns a function that logs the ids of pushes instead of sending them. Used if no webhook is configured. */
export function loggedPushes(log: Log): SendPush {
  return async (push) => {
    const { match_id, user_id, other_id } = push
    log.info({ push_id: pushId(push), match_id, user_id, other_id }, 'match_push')
    return DELIVERED
  }
}
