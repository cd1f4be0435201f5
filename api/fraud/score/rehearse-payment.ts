import { randomUUID } from 'node:crypto'
import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { parseJsonBody } from '../../kit/body.ts'
import { answerOf } from './answer.ts'
import { EXAMPLE_PAYMENT } from './example-payment.ts'
import { readRequest } from './read-request.ts'
import type { Scorer } from './scorer.ts'

/**
 * Parts that need no warm-up. A rehearsal counts even if they are unavailable, for example because Kafka does not
 * respond.
 */
const NEED_NO_WARMTH = ['rules', 'blocklist']

export interface RehearsePaymentDeps {
  /** A scorer that leaves nothing behind: see `rehearsal`. */
  readonly score: Scorer
  readonly hashes: PersonalHashes
  /** Epoch ms. */
  now(): number
}

/**
 * Scores a made-up payment, from the bytes of the request to the bytes of the answer.
 * @returns whether all parts that need a warm-up were available
 */
export async function rehearsePayment({ score, hashes, now }: RehearsePaymentDeps): Promise<boolean> {
  const id = `warm-up-${randomUUID()}`
  const body = {
    ...EXAMPLE_PAYMENT,
    transaction_id: id,
    timestamp: new Date(now()).toISOString(),
    payer: { ...EXAMPLE_PAYMENT.payer, user_id: id },
    payee: { ...EXAMPLE_PAYMENT.payee, merchant_id: id },
    payment_instrument: { ...EXAMPLE_PAYMENT.payment_instrument, card_hash: id },
    device: { ...EXAMPLE_PAYMENT.device, fingerprint_id: id, ip_address: madeUpAddress() },
  }
  const request = readRequest(parseJsonBody(Buffer.from(JSON.stringify(body))), hashes, now())
  const { scored } = await score(request, id)
  jsonAnswer(200, answerOf(scored))
  return scored.degraded.every((part) => NEED_NO_WARMTH.includes(part))
}

/** Returns an address that no host has, because RFC 3849 reserves its network for documentation. */
function madeUpAddress(): string {
  return `2001:db8:${randomUUID()
    .slice(0, 28)
    .replaceAll('-', '')
    .replace(/(.{4})(?=.)/g, '$1:')}`
}
