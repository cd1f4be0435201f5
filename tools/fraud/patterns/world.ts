import { integer, pick, type Random } from '../../random/random.ts'
import { CITIES, type City } from './cities.ts'
import { between, integerBetween, isDrawn, normal } from './draw.ts'

/** An IP address with the facts that databases contain about it. */
export interface Address {
  readonly ip: string
  readonly country: string
  readonly isDatacenter: boolean
}

/** A person who pays. */
export interface Person {
  readonly userId: string
  readonly home: City
  readonly devices: readonly string[]
  readonly cards: readonly string[]
  readonly addresses: readonly Address[]
  readonly merchants: readonly Merchant[]
  /** Mean amount of a payment in USD. */
  readonly meanAmount: number
  readonly paymentsPerDay: number
  /** Epoch ms. */
  readonly openedAt: number
  readonly login: string
  /**
   * True if this person's payments are submitted with only the required fields, the type of payment instrument and the
   * id of the device.
   */
  readonly isSparse: boolean
  /** True if the person sends large amounts, as a company does. */
  readonly isBusiness: boolean
}

export interface Merchant {
  readonly id: string
  readonly category: string
  readonly country: string
}

export interface World {
  readonly people: readonly Person[]
  readonly merchants: readonly Merchant[]
}

export interface WorldOptions {
  readonly people: number
  /** Epoch ms. */
  readonly startAt: number
  /** Epoch ms. */
  readonly endAt: number
  /** Prefix of all ids, so that several worlds have no ids in common. */
  readonly name: string
}

const DAY_MS = 86_400_000
/** Number of people per merchant. Merchants have many customers, so that one fraud does not make a merchant risky. */
const PEOPLE_PER_MERCHANT = 25
const MOST_KNOWN_MERCHANTS = 12
const OLDEST_ACCOUNT_DAYS = 1_500
const CATEGORIES = ['grocery', 'fuel', 'restaurant', 'clothing', 'electronics', 'travel', 'gaming', 'books', 'pharmacy']
const LOGINS = ['password', 'password', 'biometric', 'passkey', 'otp', 'mfa', 'social']
/** Share of accounts that are opened between `startAt` and `endAt`. */
const NEW_ACCOUNT_SHARE = 0.05
const SPARSE_SHARE = 0.08
const BUSINESS_SHARE = 0.02
/**
 * Share of people who belong to the household of the previous person, and share the home, the first device and the
 * first IP address of that person.
 */
const FAMILY_SHARE = 0.15
/** Share of people whose second IP address is an office address, which other people may share. */
const OFFICE_SHARE = 0.2
const PEOPLE_PER_OFFICE = 25
const FEW_PAYMENTS_PER_DAY = 0.3
const MANY_PAYMENTS_PER_DAY = 2.5
const MEDIAN_AMOUNT = 38
const AMOUNT_SPREAD = 0.6

export function createWorld(random: Random, { people: count, startAt, endAt, name }: WorldOptions): World {
  const merchants = Array.from(
    { length: Math.ceil(count / PEOPLE_PER_MERCHANT) },
    (_, index): Merchant => ({
      id: `${name}-m${index}`,
      category: pick(random, CATEGORIES),
      country: pick(random, CITIES).country,
    }),
  )
  const people: Person[] = []
  for (let index = 0; index < count; index++) people.push(createPerson(index))
  return { people, merchants }

  function createPerson(index: number): Person {
    const home = pick(random, CITIES)
    const isNew = isDrawn(random, NEW_ACCOUNT_SHARE)
    const family = index > 0 && isDrawn(random, FAMILY_SHARE) ? people[index - 1] : undefined
    const office = isDrawn(random, OFFICE_SHARE) ? Math.floor(index / PEOPLE_PER_OFFICE) : undefined
    const own = [`${name}-d${index}a`, ...(isDrawn(random, 0.4) ? [`${name}-d${index}b`] : [])]
    const isBusiness = isDrawn(random, BUSINESS_SHARE)
    return {
      userId: `${name}-u${index}`,
      home: family?.home ?? home,
      devices: family ? [...own, family.devices[0]] : own,
      cards: Array.from({ length: isDrawn(random, 0.3) ? 2 : 1 }, (_, card) => `${name}-c${index}-${card}`),
      addresses: [
        family?.addresses[0] ?? { ip: addressOf(random), country: home.country, isDatacenter: false },
        office === undefined
          ? { ip: addressOf(random), country: (family?.home ?? home).country, isDatacenter: false }
          : { ip: `10.${office >> 8}.${office & 255}.1`, country: (family?.home ?? home).country, isDatacenter: isDrawn(random, 0.1) },
      ],
      merchants: Array.from({ length: integerBetween(random, 3, MOST_KNOWN_MERCHANTS) }, () => pick(random, merchants)),
      meanAmount: isBusiness ? between(random, 400, 5_000) : MEDIAN_AMOUNT * Math.exp(normal(random) * AMOUNT_SPREAD),
      paymentsPerDay: between(random, FEW_PAYMENTS_PER_DAY, MANY_PAYMENTS_PER_DAY) * (isBusiness ? 0.6 : 1),
      openedAt: isNew ? between(random, startAt, endAt) : startAt - integerBetween(random, 10, OLDEST_ACCOUNT_DAYS) * DAY_MS,
      login: pick(random, LOGINS),
      isSparse: isDrawn(random, SPARSE_SHARE),
      isBusiness,
    }
  }
}

/** Draws a public IPv4 address. */
export function addressOf(random: Random): string {
  return `${integerBetween(random, 20, 99)}.${integer(random, 256)}.${integer(random, 256)}.${integerBetween(random, 1, 254)}`
}
