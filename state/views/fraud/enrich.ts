import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import type { CountedSecond } from '../../../schemas/fraud/profile/fold.ts'
import type { FraudProfile } from '../../../schemas/fraud/types.ts'
import type { ViewScript } from '../view.ts'
import {
  COUNTED_FOR_MS,
  flightField,
  IN_FLIGHT_MS,
  MOST_COUNTERS,
  MOST_IN_FLIGHT,
  packFlight,
  secondField,
  unpackCounter,
  unpackFlight,
} from './in-flight.ts'
import { profileKeys } from './profiles.ts'

/**
 * Reads the profiles of entities of one partition and their transactions in flight. Then adds a transaction to those in
 * flight of each entity, unless it is already there. One script for all entities of a transaction saves four fifths of
 * the requests.
 *
 * KEYS: 1 the view's caught-up flag, then of each entity the profile, the transactions in flight and their counters.
 * ARGV: 1 field of the transaction, 2 most in flight, 3 time to live in ms, 4 second and 5 amount for the counters, 6
 * number of counters from which seconds are joined into minutes, 7 first minute to keep then, 8 first second in which a
 * transaction must have been added to stay in flight, then of each entity the value of the transaction, or an empty
 * text to read only. Returns the flag, and of each entity the profile, the transactions in flight and the counters, the
 * last two as alternating fields and values.
 */
export const ENRICH: ViewScript = {
  name: 'enrich',
  returnsBytes: true,
  source: `
local field, most, ttl, ofSecond, units = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local mostCounters, firstMinute, firstSecond = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local function addTransaction(flightKey, countedKey, flight, counted, value)
  if #flight < 2 * most or redis.call('HEXISTS', flightKey, field) == 1 then
    redis.call('HSETNX', flightKey, field, value)
    redis.call('PEXPIRE', flightKey, ttl)
    return
  end
  if #counted == 0 or #counted >= 2 * mostCounters then
    for index = 1, #flight, 2 do
      if struct.unpack('>I4', flight[index + 1], 2) < firstSecond then redis.call('HDEL', flightKey, flight[index]) end
    end
  end
  local function add(counter, count, sum)
    local heldCount, heldSum = string.match(redis.call('HGET', countedKey, counter) or '', '^(%d+) (%d+)$')
    redis.call('HSET', countedKey, counter, string.format('%d %.0f', (heldCount or 0) + count, (heldSum or 0) + sum))
  end
  add(ofSecond, 1, tonumber(units))
  redis.call('PEXPIRE', countedKey, ttl)
  if #counted >= 2 * mostCounters then
    for index = 1, #counted, 2 do
      local second = tonumber(counted[index])
      local minute = second and math.floor(second / 60) or tonumber(string.sub(counted[index], 2))
      local isOld = minute < firstMinute
      if second or isOld then
        local count, sum = string.match(redis.call('HGET', countedKey, counted[index]), '^(%d+) (%d+)$')
        redis.call('HDEL', countedKey, counted[index])
        if not isOld then add('m' .. string.format('%d', minute), tonumber(count), tonumber(sum)) end
      end
    end
  end
end
local found = {redis.call('GET', KEYS[1])}
for at = 2, #KEYS, 3 do
  local flight, counted = redis.call('HGETALL', KEYS[at + 1]), redis.call('HGETALL', KEYS[at + 2])
  found[at], found[at + 1], found[at + 2] = redis.call('GET', KEYS[at]), flight, counted
  local value = ARGV[9 + (at - 2) / 3]
  if value ~= '' then addTransaction(KEYS[at + 1], KEYS[at + 2], flight, counted, value) end
end
return found
`,
}

/**
 * Removes what `ENRICH` has added, unless it was added to a counter. KEYS: of each entity the transactions in flight.
 * ARGV: 1 field of the transaction, then of each entity its value. The value of another request with the same id is not
 * removed.
 */
export const WITHDRAW: ViewScript = {
  name: 'withdraw',
  source: `
for at = 1, #KEYS do
  if redis.call('HGET', KEYS[at], ARGV[1]) == ARGV[at + 1] then redis.call('HDEL', KEYS[at], ARGV[1]) end
end
`,
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** An entity to look up. If there is no event, nothing is added. */
export interface EnrichedEntity {
  /** The key of its profile: `<kind>:<id>` */
  readonly entity: string
  readonly event: FraudEvent | undefined
}

/** @param entities at least one entity; all belong to the partition */
export function enrichKeys(partition: number, entities: readonly EnrichedEntity[]): string[] {
  const keys = [profileKeys(partition, entities[0].entity).caughtUp]
  for (const { entity } of entities) {
    const { profile, flight, counted } = profileKeys(partition, entity)
    keys.push(profile, flight, counted)
  }
  return keys
}

/**
 * @param entities entities with events of one transaction, all in the partition
 * @param now the time that was passed to `enrichArguments`
 */
export function withdrawal(partition: number, entities: readonly EnrichedEntity[], now: number) {
  const keys: string[] = []
  const values: (string | Buffer)[] = []
  for (const { entity, event } of entities) {
    if (event === undefined) continue
    if (values.length === 0) values.push(flightField(event.id))
    keys.push(profileKeys(partition, entity).flight)
    values.push(packFlight(event, now))
  }
  return { keys, values }
}

const READ_ONLY = ''

/**
 * @param entities entities whose events belong to one transaction
 * @param now epoch ms
 * @param inFlightMs how long the transaction stays in flight if no profile includes it
 */
export function enrichArguments(entities: readonly EnrichedEntity[], now: number, inFlightMs = IN_FLIGHT_MS): (string | number | Buffer)[] {
  const { id, at, units } = entities.find(({ event }) => event !== undefined)?.event ?? NO_EVENT
  const firstMinute = Math.floor((now - COUNTED_FOR_MS) / MINUTE_MS)
  const firstSecond = Math.floor((now - IN_FLIGHT_MS) / SECOND_MS)
  const common = [flightField(id), MOST_IN_FLIGHT, inFlightMs, secondField(at), units, MOST_COUNTERS, firstMinute, firstSecond]
  return [...common, ...entities.map(({ event }) => (event === undefined ? READ_ONLY : packFlight(event, now)))]
}

const NO_EVENT = { id: 0, at: 0, units: 0 }

/** What Redis holds of an entity. */
export interface HeldEntity {
  /** Undefined: the entity has no history. */
  readonly profile: FraudProfile | undefined
  readonly inFlight: readonly FraudEvent[]
  readonly inFlightSeconds: readonly CountedSecond[]
}

const VALUES_PER_ENTITY = 3

/**
 * Reads the answer to `ENRICH`.
 * @returns the values of each entity, or undefined for an entity whose data is unusable because the view is being built
 * or a different version wrote it
 */
export function heldEntities(answer: unknown, now: number): (HeldEntity | undefined)[] {
  const [flag, ...values] = answer as [Buffer | null, ...HeldValues]
  return Array.from({ length: values.length / VALUES_PER_ENTITY }, (_, index) => {
    const at = index * VALUES_PER_ENTITY
    return flag === null ? undefined : heldEntity(values.slice(at, at + VALUES_PER_ENTITY) as HeldValues, now)
  })
}

/** The profile, the transactions in flight and the counters of an entity. */
export type HeldValues = [profile: Buffer | null, flight: Buffer[], counted: Buffer[]]

/** @returns undefined if a different version wrote the profile */
export function heldEntity([bytes, flight, counted]: HeldValues, now: number): HeldEntity | undefined {
  const profile = bytes === null ? undefined : profileFromBytes(bytes)
  if (bytes !== null && profile === undefined) return undefined
  const inFlight: FraudEvent[] = []
  for (let index = 0; index < flight.length; index += 2) {
    const { event, addedAt } = unpackFlight(flight[index].toString('latin1'), flight[index + 1])
    if (addedAt > now - IN_FLIGHT_MS) inFlight.push(event)
  }
  const inFlightSeconds: CountedSecond[] = []
  for (let index = 0; index < counted.length; index += 2) {
    inFlightSeconds.push(unpackCounter(counted[index].toString('latin1'), counted[index + 1].toString('latin1')))
  }
  return { profile, inFlight, inFlightSeconds }
}
