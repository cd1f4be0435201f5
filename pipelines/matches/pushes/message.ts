import { createHmac } from 'node:crypto'
import type { MatchNotification } from '../../../schemas/matches/types.ts'
import type { HttpMessage } from '../../engine/index.ts'

const SIGNATURE_VERSION = 'v1'
const MS_PER_SECOND = 1_000

/** Returns the id of a push. All attempts have the same id, so that the receiver can recognise repetitions. */
export function pushId({ match_id, user_id }: Pick<MatchNotification, 'match_id' | 'user_id'>): string {
  return `${match_id}:${user_id}`
}

/**
 * Returns the message about a match, signed as the Standard Webhooks specification requires:
 * docs/services/matches.md#pushes
 * @param secrets the message gets one signature per secret
 * @param now time of the attempt, epoch ms
 */
export function pushMessage(push: MatchNotification, secrets: readonly Buffer[], now: number): HttpMessage {
  const { match_id, user_id, other_id, conversation_id, matched_at } = push
  const id = pushId(push)
  const timestamp = Math.floor(now / MS_PER_SECOND)
  const data = { match_id, user_id, other_id, conversation_id, matched_at: new Date(matched_at).toISOString() }
  const body = JSON.stringify({ type: 'match.created', timestamp: data.matched_at, data })
  const signatures = secrets.map((secret) => signatureOf(secret, id, timestamp, body))
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'millrace',
      'idempotency-key': id,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures.join(' '),
    },
    body,
  }
}

/**
 * Returns a signature in the form that the header `webhook-signature` contains.
 * @param timestamp epoch seconds
 */
export function signatureOf(secret: Buffer, id: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return `${SIGNATURE_VERSION},${digest}`
}
