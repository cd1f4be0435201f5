import { ENTITY_KINDS, type EntityKind } from '../../../schemas/fraud/entity.ts'
import { entitiesOf, eventsOf } from '../../../schemas/fraud/events.ts'
import { type Enrichments, featuresOf, NO_HISTORY } from '../../../schemas/fraud/features/features.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import type { FraudFeatures, FraudIpFacts, FraudProfile, FraudRequest } from '../../../schemas/fraud/types.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const NOON = Date.UTC(2026, 0, 15, 12)

export const NO_IP_FACTS: FraudIpFacts = { geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null }

/** The fields of a request that tests vary. */
export interface Payment {
  readonly id?: string
  readonly at?: number
  readonly amount?: number
  readonly currency?: string
  readonly user?: string
  readonly device?: string | null
  readonly ip?: string | null
  readonly card?: string | null
  readonly merchant?: string | null
  readonly place?: readonly [lat: number, lng: number]
  readonly login?: string | null
  readonly sinceLogin?: number | null
  readonly cardCountry?: string | null
}

let made = 0

export function pay(payment: Payment = {}): FraudRequest {
  const { id = `made-${++made}`, at = NOON, amount = 10, currency = 'USD', user = 'u1', place } = payment
  return {
    transaction_id: id,
    timestamp: at,
    amount,
    currency,
    transaction_type: 'PURCHASE',
    payer: { user_id: user, email_hash: null, phone_hash: null, account_age_days: null, country: null },
    payee: { merchant_id: payment.merchant ?? null, merchant_category: null, merchant_country: null },
    payment_instrument: { type: null, card_hash: payment.card ?? null, issuer_bank: null, bin_country: payment.cardCountry ?? null },
    device: {
      fingerprint_id: payment.device ?? null,
      ip_address: payment.ip ?? null,
      user_agent: null,
      lat: place?.[0] ?? null,
      lng: place?.[1] ?? null,
    },
    session: { session_id: null, login_method: payment.login ?? null, time_since_login_sec: payment.sinceLogin ?? null },
  }
}

/** Folds those requests that concern an entity into its known profile or a new one, in the given order. */
export function profileOf(kind: EntityKind, entityId: string, requests: readonly FraudRequest[], known?: FraudProfile): FraudProfile {
  const events = requests.flatMap(eventsOf).filter((seen) => seen.kind === kind && seen.entityId === entityId)
  return foldEvents(
    known ?? NEW_PROFILE,
    PROFILE_SHAPES[kind],
    events.map(({ event }) => event),
  )
}

/** Returns the lookups for a transaction. The transactions in `earlier` have been scored and folded before. */
export function lookedUp(request: FraudRequest, earlier: readonly FraudRequest[]): Enrichments {
  const ids = entitiesOf(request)
  const found = {} as Record<EntityKind, Enrichments[EntityKind]>
  for (const kind of ENTITY_KINDS) {
    const id = ids[kind]
    found[kind] = id === null ? undefined : { ...NO_HISTORY, profile: profileOf(kind, id, earlier) }
  }
  return found
}

/** Returns the features of a transaction that follows the given earlier transactions. */
export function featuresAfter(earlier: readonly FraudRequest[], payment: Payment, ip: FraudIpFacts = NO_IP_FACTS): FraudFeatures {
  const request = pay(payment)
  return featuresOf(request, ip, lookedUp(request, earlier)).features
}
