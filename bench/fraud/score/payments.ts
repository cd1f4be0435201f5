import { randomUUID } from 'node:crypto'
import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { hash32 } from '../../../schemas/fraud/hash.ts'
import { profileBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import type { Random } from '../../../tools/random/random.ts'

const WEEK_MS = 7 * 86_400_000
const HASH_SPACE = 2 ** 32
const MERCHANTS = 20_000
const CENTS = 100
const MOST_AMOUNT = 20_000
const UNITS_PER_CENT = 100
const USERS_PER_ADDRESS = 3

/** Time since login in seconds, a normal value for the models. */
const SINCE_LOGIN_SECONDS = 1_800

/** How the payments of a round are distributed: spread evenly, all from one IP address, or all to one merchant. */
export type Spread = 'spread' | 'hot IP' | 'hot merchant'

/**
 * Step between the users of consecutive payments. It is large, because users with consecutive ids share an IP address.
 * It is prime, so that all users still take turns.
 */
const STRIDE = 7_919

/**
 * Returns a function that makes payments. Users take turns, so that nearly all payments are scored with the seeded
 * profiles instead of profiles that the pipeline writes during the run.
 */
export function benchPayments(users: number, random: Random): (spread: Spread) => string {
  let made = 0
  return (spread) => benchPayment((made++ * STRIDE) % users, spread, random)
}

function benchPayment(user: number, spread: Spread, random: Random): string {
  const address = Math.floor(user / USERS_PER_ADDRESS)
  return JSON.stringify({
    transaction_id: randomUUID(),
    timestamp: new Date().toISOString(),
    amount: Math.round(random() * MOST_AMOUNT) / CENTS,
    currency: 'USD',
    transaction_type: 'PURCHASE',
    payer: { user_id: ownId('user', user), email: `u${user}@example.com`, account_age_days: user % 1_000 },
    payee: {
      merchant_id: spread === 'hot merchant' ? 'm0' : `m${Math.floor(random() * MERCHANTS)}`,
      merchant_category: 'books',
      merchant_country: 'US',
    },
    payment_instrument: { type: 'CREDIT_CARD', card_hash: ownId('card', user), issuer_bank: 'Bank', bin_country: 'US' },
    device: {
      fingerprint_id: ownId('device', user),
      ip_address: spread === 'hot IP' ? '192.0.2.1' : `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`,
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
      geo_location: { lat: 40.7, lng: -74 },
    },
    session: { session_id: `s${user}`, login_method: 'password', time_since_login_sec: SINCE_LOGIN_SECONDS },
  })
}

/** The kinds of entities that belong to a single user. */
export const OWN_KINDS = ['user', 'device', 'card'] as const satisfies readonly EntityKind[]

/** Returns the id of an entity that only this user has. */
export function ownId(kind: (typeof OWN_KINDS)[number], user: number): string {
  return { user: `u${user}`, device: `device-${user}`, card: `card-${user}` }[kind]
}

/**
 * Returns a user's payments in the week before `now`. Without this history, the device and the card would be new, so
 * most payments would be sent to review.
 */
export function benchWeek(user: number, payments: number, now: number, random: Random): FraudEvent[] {
  const hash = () => Math.floor(random() * HASH_SPACE)
  return Array.from(
    { length: payments },
    (): FraudEvent => ({
      id: hash() * 2 ** 16,
      at: Math.floor(now - random() * WEEK_MS),
      units: Math.round(random() * MOST_AMOUNT) * UNITS_PER_CENT,
      place: { lat: 40.7, lng: -74 },
      user: hash32(ownId('user', user)),
      device: hash32(ownId('device', user)),
      ip: hash(),
      card: hash32(ownId('card', user)),
      merchant: hash(),
      user_id: null,
    }),
  )
}

/** Returns the profile of an entity with these payments, in the form in which Redis stores it. */
export function benchProfile(kind: EntityKind, events: readonly FraudEvent[]): Buffer {
  const { seen } = PROFILE_SHAPES[kind]
  const own = events.map((event) => ({ ...event, [kind]: null, ...(seen.merchant === undefined && { merchant: null }) }))
  return profileBytes(foldEvents(NEW_PROFILE, PROFILE_SHAPES[kind], own))
}
