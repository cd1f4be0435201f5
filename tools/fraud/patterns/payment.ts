import type { FraudIpFacts, FraudRequest } from '../../../schemas/fraud/types.ts'
import type { Random } from '../../random/random.ts'
import type { City } from './cities.ts'
import { cents, isDrawn } from './draw.ts'
import type { Address, Merchant, Person } from './world.ts'

/** The patterns of fraud that the traffic contains. */
export const PATTERNS = [
  'card_testing',
  'account_takeover',
  'impossible_travel',
  'velocity',
  'new_account',
  'device_farm',
  'structuring',
] as const
export type Pattern = (typeof PATTERNS)[number]

/** A generated request with its label. */
export interface GeneratedPayment {
  readonly request: FraudRequest
  readonly ip: FraudIpFacts
  /** Undefined for normal behaviour. */
  readonly pattern: Pattern | undefined
  /** Id that all payments of one fraud share; empty for normal behaviour. */
  readonly occurrence: string
}

export interface PaymentParts {
  readonly id: string
  readonly at: number
  readonly amount: number
  readonly type: string
  readonly userId: string
  readonly openedAt: number
  readonly homeCountry: string
  readonly merchant: Merchant
  readonly card: string | null
  readonly device: string
  readonly address: Address
  readonly place: City
  readonly login: string
  readonly sinceLoginSec: number
  readonly isSparse: boolean
}

const DAY_MS = 86_400_000
/** Share of the optional fields that callers leave out. */
const MISSING_SHARE = 0.12
/** Range of a place's random offset from the city's centre, in degrees. */
const PLACE_SPREAD = 0.05

export function partsOf(person: Person): Pick<PaymentParts, 'userId' | 'openedAt' | 'homeCountry' | 'isSparse'> {
  return { userId: person.userId, openedAt: person.openedAt, homeCountry: person.home.country, isSparse: person.isSparse }
}

/**
 * Creates a request and the facts that databases contain about its IP address. The request lacks some optional fields.
 */
export function paymentOf(random: Random, parts: PaymentParts): { readonly request: FraudRequest; readonly ip: FraudIpFacts } {
  const { address, place, card, merchant, isSparse } = parts
  const optional = <T>(value: T): T | null => (isSparse || isDrawn(random, MISSING_SHARE) ? null : value)
  const hasPlace = optional(true)
  const hasLists = isDrawn(random, 0.5)
  const ip_address = optional(address.ip)
  return {
    request: {
      transaction_id: parts.id,
      timestamp: Math.floor(parts.at),
      amount: cents(Math.max(parts.amount, 0.01)),
      currency: 'USD',
      transaction_type: parts.type,
      payer: {
        user_id: parts.userId,
        email_hash: null,
        phone_hash: null,
        account_age_days: optional(Math.max(0, Math.floor((parts.at - parts.openedAt) / DAY_MS))),
        country: optional(parts.homeCountry),
      },
      payee: {
        merchant_id: isSparse ? null : merchant.id,
        merchant_category: optional(merchant.category),
        merchant_country: optional(merchant.country),
      },
      payment_instrument: {
        type: card === null ? 'BANK_ACCOUNT' : 'CREDIT_CARD',
        card_hash: isSparse ? null : card,
        issuer_bank: null,
        bin_country: card === null ? null : optional(parts.homeCountry),
      },
      device: {
        fingerprint_id: isSparse || !isDrawn(random, MISSING_SHARE / 2) ? parts.device : null,
        ip_address,
        user_agent: null,
        lat: hasPlace ? place.lat + (random() - 0.5) * PLACE_SPREAD : null,
        lng: hasPlace ? place.lng + (random() - 0.5) * PLACE_SPREAD : null,
      },
      session: {
        session_id: null,
        login_method: optional(parts.login),
        time_since_login_sec: optional(Math.floor(parts.sinceLoginSec)),
      },
    },
    ip: {
      geo_country: ip_address === null ? null : address.country,
      is_vpn: hasLists && ip_address !== null ? address.isDatacenter && isDrawn(random, 0.5) : null,
      is_tor: hasLists && ip_address !== null ? false : null,
      is_datacenter: hasLists && ip_address !== null ? address.isDatacenter : null,
    },
  }
}
