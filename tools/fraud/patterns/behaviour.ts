import { travelBetween } from '../../../schemas/fraud/features/travel.ts'
import { pick, type Random } from '../../random/random.ts'
import { CITIES, type City } from './cities.ts'
import { between, integerBetween, isDrawn, normal } from './draw.ts'
import { type PaymentParts, partsOf } from './payment.ts'
import { type Address, addressOf, type Person, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Standard deviation of a person's amounts, as a share of the mean. */
const AMOUNT_DEVIATION = 0.35
const LEAST_AMOUNT = 0.5
/** Share of purchases that are far above a person's usual amounts. */
const BIG_PURCHASE_SHARE = 0.001
const NEW_MERCHANT_SHARE = 0.12
const NEW_DEVICES_PER_DAY = 1 / 200
const TRIPS_PER_DAY = 1 / 80
/**
 * Share of purchases that begin a burst: several small payments within minutes, as in games or after failed attempts.
 */
const BURST_SHARE = 0.01
const MOST_IN_BURST = 5
/** Average speed of a journey, including the time at airports. */
const JOURNEY_KM_PER_HOUR = 600
const LEAST_JOURNEY_HOURS = 4
const TRIP_DAYS = [2, 8] as const
const SESSION_SECONDS = [20, 3_600] as const

/** Yields a person's normal payments in chronological order. */
export function* behave(random: Random, { merchants }: World, person: Person, startAt: number, endAt: number): Generator<PaymentParts> {
  let number = 0
  let devices = person.devices
  let abroad: { readonly city: City; readonly address: Address; readonly until: number } | undefined
  let at = Math.max(startAt, person.openedAt)
  while (true) {
    const gap = (-Math.log(1 - random()) * DAY_MS) / person.paymentsPerDay
    at = awake(at + gap, person.home.lng)
    if (at >= endAt) return
    const days = gap / DAY_MS
    if (isDrawn(random, days * NEW_DEVICES_PER_DAY)) devices = [`${person.userId}-d${number}`, ...devices.slice(0, 1)]
    if (abroad !== undefined && at > abroad.until) {
      at += journeyMs(abroad.city, person.home)
      abroad = undefined
    } else if (abroad === undefined && isDrawn(random, days * TRIPS_PER_DAY)) {
      const city = pick(random, CITIES)
      at += journeyMs(person.home, city)
      abroad = {
        city,
        address: { ip: addressOf(random), country: city.country, isDatacenter: false },
        until: at + between(random, ...TRIP_DAYS) * DAY_MS,
      }
    }
    const inBurst = !person.isBusiness && isDrawn(random, BURST_SHARE) ? integerBetween(random, 2, MOST_IN_BURST) : 1
    const device = pick(random, devices)
    const merchant = pick(random, isDrawn(random, NEW_MERCHANT_SHARE) ? merchants : person.merchants)
    for (let payment = 0; payment < inBurst; payment++) {
      if (at >= endAt) return
      yield {
        ...partsOf(person),
        ...money(random, person, inBurst > 1),
        id: `${person.userId}-t${number++}`,
        at,
        merchant,
        device,
        address: abroad?.address ?? (isDrawn(random, 0.7) ? person.addresses[0] : person.addresses[1]),
        place: abroad?.city ?? person.home,
        login: person.login,
        sinceLoginSec: between(random, ...SESSION_SECONDS),
      }
      at += between(random, 1_000, 2 * MINUTE_MS)
    }
  }
}

function journeyMs(from: City, to: City): number {
  return Math.max(LEAST_JOURNEY_HOURS, travelBetween(from, to, 0).distanceKm / JOURNEY_KM_PER_HOUR) * HOUR_MS
}

function money(random: Random, { meanAmount, cards, isBusiness }: Person, isSmall: boolean) {
  const usual = meanAmount * Math.max(LEAST_AMOUNT / meanAmount, 1 + AMOUNT_DEVIATION * normal(random))
  const big = isDrawn(random, BIG_PURCHASE_SHARE) ? between(random, 3, 6) : 1
  return {
    amount: isSmall ? between(random, LEAST_AMOUNT, Math.min(usual, 30)) : usual * big,
    type: isBusiness ? 'TRANSFER' : 'PURCHASE',
    card: isBusiness ? null : pick(random, cards),
  }
}

/** Postpones a time at night to the morning. */
function awake(at: number, lng: number): number {
  const hour = (((at + (lng / 15) * HOUR_MS) % DAY_MS) + DAY_MS) % DAY_MS
  return hour < 6 * HOUR_MS ? at + 6 * HOUR_MS : at
}
