import type { FraudRequest } from '../../../../schemas/fraud/types.ts'
import { viewTag } from '../../../../state/views/view.ts'
import type { fakeRedis } from '../../../state/views/fake-redis.ts'

const NO_PAYEE = { merchant_id: null, merchant_category: null, merchant_country: null }
const NO_SESSION = { session_id: null, login_method: null, time_since_login_sec: null }

interface Entities {
  readonly user?: string
  readonly device?: string
  readonly ip?: string
  readonly card?: string
  /** Keyed hash of the e-mail address. */
  readonly email?: string
}

/** Returns a canonical request that names the entities. */
export function requestOf({ user = 'nobody', device, ip, card, email }: Entities): FraudRequest {
  return {
    transaction_id: 't1',
    timestamp: 0,
    amount: 1,
    currency: 'USD',
    transaction_type: 'PURCHASE',
    payer: { user_id: user, email_hash: email ?? null, phone_hash: null, account_age_days: null, country: null },
    payee: NO_PAYEE,
    payment_instrument: { type: null, card_hash: card ?? null, issuer_bank: null, bin_country: null },
    device: { fingerprint_id: device ?? null, ip_address: ip ?? null, user_agent: null, lat: null, lng: null },
    session: NO_SESSION,
  }
}

/** Returns whether the view has an entry in any partition. */
export function isStoredEntry(redis: Pick<ReturnType<typeof fakeRedis>, 'held'>, entryId: string): boolean {
  return [0, 1].some((partition) => redis.held(`${viewTag('fraud-blocklist', partition)}:entry:${entryId}`) !== null)
}
