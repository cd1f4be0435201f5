import { integer, pick, type Random } from '../../random/random.ts'
import { CITIES, type City } from './cities.ts'
import { between, integerBetween } from './draw.ts'
import { type Pattern, type PaymentParts, partsOf } from './payment.ts'
import { type Address, addressOf, type Merchant, type Person, type World } from './world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The circumstances from which a fraud is generated. */
interface Scene {
  readonly random: Random
  readonly world: World
  /** Prefix of all ids of this fraud. */
  readonly name: string
  readonly at: number
  /** A person with a history of payments. */
  readonly victim: Person
}

type Fraud = (scene: Scene) => PaymentParts[]

/** The patterns. Each function returns the payments of one occurrence in chronological order. */
export const FRAUDS: Readonly<Record<Pattern, Fraud>> = {
  card_testing: cardTesting,
  account_takeover: accountTakeover,
  impossible_travel: impossibleTravel,
  velocity,
  new_account: newAccount,
  device_farm: deviceFarm,
  structuring,
}

/** A fraudster tests whether a stolen card works, with many tiny payments from a server. */
function cardTesting({ random, world, name, at, victim }: Scene): PaymentParts[] {
  const merchant = pick(random, world.merchants)
  const address = serverAddress(random)
  let time = at
  return Array.from({ length: integerBetween(random, 10, 30) }, (_, index) => {
    time += between(random, 5, 70) * SECOND_MS
    return {
      ...partsOf(victim),
      ...stranger(random, name, address),
      id: `${name}-${index}`,
      at: time,
      amount: between(random, 0.5, 2.5),
      type: 'PURCHASE',
      merchant,
      card: `${name}-card`,
    }
  })
}

/**
 * A fraudster signs in as the victim, on a different device in a different country, and immediately spends large
 * amounts.
 */
function accountTakeover({ random, world, name, at, victim }: Scene): PaymentParts[] {
  const city = otherCity(random, victim.home)
  const address = { ip: addressOf(random), country: city.country, isDatacenter: random() < 0.5 }
  const merchants = strangeMerchants(random, world, victim)
  let time = at
  let sinceLoginSec = between(random, 15, 100)
  return Array.from({ length: integerBetween(random, 1, 4) }, (_, index) => {
    const gap = index === 0 ? 0 : between(random, 20, 300)
    time += gap * SECOND_MS
    sinceLoginSec += gap
    return {
      ...partsOf(victim),
      ...stranger(random, name, address),
      id: `${name}-${index}`,
      at: time,
      place: city,
      sinceLoginSec,
      login: pick(random, ['password', 'sms', 'password']),
      amount: Math.max(120, victim.meanAmount * between(random, 4, 12)),
      type: 'PURCHASE',
      merchant: pick(random, merchants),
      card: victim.cards[0],
    }
  })
}

/** A copy of the victim's card pays far away, minutes after the victim has paid at home. */
function impossibleTravel({ random, world, name, at, victim }: Scene): PaymentParts[] {
  const city = otherCity(random, victim.home)
  const address = { ip: addressOf(random), country: city.country, isDatacenter: false }
  const own: PaymentParts = {
    ...partsOf(victim),
    id: `${name}-own`,
    at: at - between(random, 10, 50) * MINUTE_MS,
    amount: victim.meanAmount,
    type: 'PURCHASE',
    merchant: victim.merchants[0],
    card: victim.cards[0],
    device: victim.devices[0],
    address: victim.addresses[0],
    place: victim.home,
    login: victim.login,
    sinceLoginSec: 300,
  }
  let time = at
  const copies = Array.from({ length: integerBetween(random, 1, 3) }, (_, index) => {
    time += between(random, 1, 12) * MINUTE_MS
    return {
      ...own,
      id: `${name}-${index}`,
      at: time,
      amount: victim.meanAmount * between(random, 1, 5),
      merchant: pick(random, strangeMerchants(random, world, victim)),
      device: `${name}-device`,
      address,
      place: city,
      sinceLoginSec: between(random, 60, 900),
    }
  })
  return [own, ...copies]
}

/** A program makes many payments from an account within minutes. */
function velocity({ random, world, name, at, victim }: Scene): PaymentParts[] {
  const merchants = strangeMerchants(random, world, victim)
  const device = pick(random, [victim.devices[0], `${name}-device`])
  let time = at
  return Array.from({ length: integerBetween(random, 20, 45) }, (_, index) => {
    time += between(random, 10, 70) * SECOND_MS
    return {
      ...partsOf(victim),
      ...stranger(random, name, serverAddress(random)),
      id: `${name}-${index}`,
      at: time,
      device,
      place: victim.home,
      amount: victim.meanAmount * between(random, 0.5, 1.5),
      type: 'PURCHASE',
      merchant: pick(random, merchants),
      card: victim.cards[0],
    }
  })
}

/** An account that was opened for fraud pays large amounts with a stolen card within its first days. */
function newAccount({ random, world, name, at }: Scene): PaymentParts[] {
  const city = pick(random, CITIES)
  const address = { ip: addressOf(random), country: city.country, isDatacenter: random() < 0.4 }
  const openedAt = at - between(random, 0, 2) * DAY_MS
  let time = at
  return Array.from({ length: integerBetween(random, 1, 5) }, (_, index) => {
    time += index === 0 ? 0 : between(random, 0.1, 8) * HOUR_MS
    return {
      userId: `${name}-user`,
      openedAt,
      homeCountry: pick(random, CITIES).country,
      isSparse: false,
      ...stranger(random, name, address),
      id: `${name}-${index}`,
      at: time,
      place: city,
      amount: between(random, 520, 2_500),
      type: 'PURCHASE',
      merchant: pick(random, world.merchants),
      card: `${name}-card`,
    }
  })
}

/** Many accounts pay from one device. */
function deviceFarm({ random, world, name, at }: Scene): PaymentParts[] {
  const address = serverAddress(random)
  const merchants = Array.from({ length: 3 }, () => pick(random, world.merchants))
  const homeCountry = pick(random, CITIES).country
  let time = at
  return Array.from({ length: integerBetween(random, 20, 45) }, (_, index) => {
    time += between(random, 1, 15) * MINUTE_MS
    return {
      userId: `${name}-user${Math.floor(index * 0.8)}`,
      openedAt: at - between(random, 0, 20) * DAY_MS,
      homeCountry,
      isSparse: false,
      ...stranger(random, name, address),
      id: `${name}-${index}`,
      at: time,
      amount: between(random, 15, 140),
      type: 'PURCHASE',
      merchant: pick(random, merchants),
      card: `${name}-card${index % 6}`,
    }
  })
}

/** A launderer splits a large sum into transfers below the amount that banks must report. */
function structuring({ random, world, name, at, victim }: Scene): PaymentParts[] {
  const merchants = Array.from({ length: 3 }, () => pick(random, world.merchants))
  let time = at
  return Array.from({ length: integerBetween(random, 4, 10) }, (_, index) => {
    time += between(random, 0.3, 5) * HOUR_MS
    return {
      ...partsOf(victim),
      id: `${name}-${index}`,
      at: time,
      amount: between(random, 8_200, 9_990),
      type: 'TRANSFER',
      merchant: pick(random, merchants),
      card: null,
      device: victim.devices[0],
      address: victim.addresses[0],
      place: victim.home,
      login: victim.login,
      sinceLoginSec: between(random, 20, 900),
    }
  })
}

function stranger(random: Random, name: string, address: Address) {
  return {
    device: `${name}-device`,
    address,
    place: CITIES.find(({ country }) => country === address.country) ?? CITIES[0],
    login: 'password',
    sinceLoginSec: between(random, 5, 90),
  }
}

function serverAddress(random: Random): Address {
  return {
    ip: `45.${integer(random, 256)}.${integer(random, 256)}.${integerBetween(random, 1, 254)}`,
    country: pick(random, CITIES).country,
    isDatacenter: true,
  }
}

function otherCity(random: Random, home: City): City {
  return pick(
    random,
    CITIES.filter(({ country }) => country !== home.country),
  )
}

function strangeMerchants(random: Random, world: World, { merchants }: Person): Merchant[] {
  const known = new Set(merchants)
  const strange = Array.from({ length: 8 }, () => pick(random, world.merchants)).filter((merchant) => !known.has(merchant))
  return strange.length > 0 ? strange : [pick(random, world.merchants)]
}
