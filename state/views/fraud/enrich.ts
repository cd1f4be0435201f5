import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import type { CountedSecond } from '../../../schemas/fraud/profile/fold.ts'
import type { FraudProfile } from '../../../schemas/fraud/types.ts'
import type { ViewScript } from '../view.ts'
import {
  ADDED_AT,
  COUNTED_FOR_MS,
  FLIGHT_BYTES,
  flightId,
  flightRow,
  IN_FLIGHT_MS,
  inFlightAt,
  MOST_COUNTERS,
  MOST_IN_FLIGHT,
  secondField,
  unpackCounter,
} from './in-flight.ts'
import { profileKeys } from './profiles.ts'

/** Lua: returns the position of the row that begins with a string; nil if there is none. */
const ROW_OF = `
local rowBytes = ${FLIGHT_BYTES}
local function rowOf(rows, start)
  local at = string.find(rows, start, 1, true)
  while at and (at - 1) % rowBytes ~= 0 do at = string.find(rows, start, at + 1, true) end
  return at
end
`

/**
 * Reads the profiles and the transactions in flight of several entities in one partition. Then adds a transaction to
 * each entity's transactions in flight, unless it is already among them. If an entity already has the maximum number of
 * transactions in flight, the script adds the transaction to a counter instead. If all entities of a transaction are in
 * the same partition, one script for all of them saves four fifths of the requests.
 *
 * KEYS: the view's caught-up flag; for each entity, the profile and the transactions in flight; for each entity, the
 * counters.
 *
 * ARGV:
 * 1. first bytes of the transaction's row, which identify the transaction
 * 2. maximum number of transactions in flight
 * 3. time to live in ms
 * 4. field of the counter: the transaction's time in whole seconds since 1970
 * 5. amount to add to the counter
 * 6. number of counters at which counters of seconds are joined into counters of minutes
 * 7. first minute to keep when seconds are joined
 * 8. time in seconds since 1970: transactions that were added earlier are no longer in flight
 * 9. and following: for each entity, the row of the transaction, or an empty string if the entity is only read
 *
 * Returns the flag; for each entity, the profile and the transactions in flight; for each entity, the counters as
 * alternating fields and values.
 */
export const ENRICH: ViewScript = {
  name: 'enrich',
  returnsBytes: true,
  source: `
${ROW_OF}
local id, most, ttl, ofSecond, units = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local mostCounters, firstMinute, firstSecond = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local function withoutOld(flightKey, rows)
  local kept = {}
  for at = 1, #rows, rowBytes do
    if struct.unpack('>I4', rows, at + ${ADDED_AT}) >= firstSecond then table.insert(kept, string.sub(rows, at, at + rowBytes - 1)) end
  end
  if #kept == 0 then redis.call('DEL', flightKey)
  elseif #kept * rowBytes < #rows then redis.call('SET', flightKey, table.concat(kept), 'KEEPTTL') end
end
local function addTransaction(flightKey, countedKey, rows, counted, row)
  if not rows then
    redis.call('SET', flightKey, row, 'PX', ttl)
    return
  end
  local isIn = rowOf(rows, id)
  if isIn or #rows < most * rowBytes then
    if not isIn then redis.call('APPEND', flightKey, row) end
    redis.call('PEXPIRE', flightKey, ttl)
    return
  end
  if #counted == 0 or #counted >= 2 * mostCounters then withoutOld(flightKey, rows) end
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
local entities = (#KEYS - 1) / 3
local counters = 1 + 2 * entities
local found = redis.call('MGET', unpack(KEYS, 1, counters))
local isCounted = redis.call('EXISTS', unpack(KEYS, counters + 1)) > 0
for entity = 1, entities do
  local countedKey = KEYS[counters + entity]
  local counted = isCounted and redis.call('HGETALL', countedKey) or {}
  found[counters + entity] = counted
  local row = ARGV[8 + entity]
  if row ~= '' then addTransaction(KEYS[2 * entity + 1], countedKey, found[2 * entity + 1], counted, row) end
end
return found
`,
}

/**
 * Removes the rows that `ENRICH` has added. Counters stay as they are.
 * KEYS: for each entity, the transactions in flight.
 * ARGV: for each entity, the row of the transaction.
 * The row of another request with the same id is not removed.
 */
export const WITHDRAW: ViewScript = {
  name: 'withdraw',
  source: `
${ROW_OF}
for index = 1, #KEYS do
  local rows = redis.call('GET', KEYS[index])
  local at = rows and rowOf(rows, ARGV[index])
  if at and #rows == rowBytes then redis.call('DEL', KEYS[index])
  elseif at then redis.call('SET', KEYS[index], string.sub(rows, 1, at - 1) .. string.sub(rows, at + rowBytes), 'KEEPTTL') end
end
`,
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** An entity to look up. Without an event, no transaction is added to the entity. */
export interface EnrichedEntity {
  /** The key of the entity's profile: `<kind>:<id>` */
  readonly entity: string
  readonly event: FraudEvent | undefined
}

/** @param entities at least one entity; all belong to the partition */
export function enrichKeys(partition: number, entities: readonly EnrichedEntity[]): string[] {
  const keys = [profileKeys(partition, entities[0].entity).caughtUp]
  const counters: string[] = []
  for (const { entity } of entities) {
    const { profile, flight, counted } = profileKeys(partition, entity)
    keys.push(profile, flight)
    counters.push(counted)
  }
  keys.push(...counters)
  return keys
}

/**
 * @param entities entities with events of one transaction, all in the partition
 * @param now the time that was passed to `enrichArguments`
 */
export function withdrawal(partition: number, entities: readonly EnrichedEntity[], now: number) {
  const keys: string[] = []
  const rows: Buffer[] = []
  for (const { entity, event } of entities) {
    if (event === undefined) continue
    keys.push(profileKeys(partition, entity).flight)
    rows.push(flightRow(event, now))
  }
  return { keys, rows }
}

const READ_ONLY = ''

/**
 * @param entities entities whose events belong to one transaction
 * @param now epoch ms
 * @param inFlightMs how long Redis keeps an entity's transactions in flight after the last one was added
 */
export function enrichArguments(entities: readonly EnrichedEntity[], now: number, inFlightMs = IN_FLIGHT_MS): (string | number | Buffer)[] {
  const { id, at, units } = entities.find(({ event }) => event !== undefined)?.event ?? NO_EVENT
  const firstMinute = Math.floor((now - COUNTED_FOR_MS) / MINUTE_MS)
  const firstSecond = Math.floor((now - IN_FLIGHT_MS) / SECOND_MS)
  const common = [flightId(id), MOST_IN_FLIGHT, inFlightMs, secondField(at), units, MOST_COUNTERS, firstMinute, firstSecond]
  return [...common, ...entities.map(({ event }) => (event === undefined ? READ_ONLY : flightRow(event, now)))]
}

const NO_EVENT = { id: 0, at: 0, units: 0 }

/** The decoded data about an entity in Redis. */
export interface HeldEntity {
  /** Undefined: the entity has no history. */
  readonly profile: FraudProfile | undefined
  readonly inFlight: readonly FraudEvent[]
  readonly inFlightSeconds: readonly CountedSecond[]
}

/** The profile, the transactions in flight and the counters of an entity, as stored in Redis. */
export interface HeldBytes {
  readonly profile: Buffer | null
  readonly flight: Buffer | null
  /** Alternating fields and values. */
  readonly counted: readonly Buffer[]
}

/**
 * Splits the answer to `ENRICH` into the data of each entity.
 * @returns undefined while the view is being built
 */
export function heldBytes(answer: unknown, entities: number): HeldBytes[] | undefined {
  const found = answer as (Buffer | null)[]
  if (found[0] === null) return undefined
  const counters = (answer as Buffer[][]).slice(1 + 2 * entities)
  return counters.map((counted, index) => ({ profile: found[1 + 2 * index], flight: found[2 + 2 * index], counted }))
}

/**
 * Decodes the data about an entity.
 * @returns undefined if a different version of the program wrote the profile
 */
export function heldEntity({ profile: bytes, flight, counted }: HeldBytes, now: number): HeldEntity | undefined {
  const profile = bytes === null ? undefined : profileFromBytes(bytes)
  if (bytes !== null && profile === undefined) return undefined
  const inFlight: FraudEvent[] = []
  for (let at = 0; flight !== null && at < flight.length; at += FLIGHT_BYTES) {
    const { event, addedAt } = inFlightAt(flight, at)
    if (isInFlight(addedAt, now)) inFlight.push(event)
  }
  return { profile, inFlight, inFlightSeconds: heldSeconds(counted) }
}

/**
 * Returns whether a transaction is still in flight.
 * @param addedAt epoch ms
 */
export function isInFlight(addedAt: number, now: number): boolean {
  return addedAt > now - IN_FLIGHT_MS
}

/** @param counted alternating fields and values */
export function heldSeconds(counted: readonly Buffer[]): CountedSecond[] {
  const seconds: CountedSecond[] = []
  for (let index = 0; index < counted.length; index += 2) {
    seconds.push(unpackCounter(counted[index].toString('latin1'), counted[index + 1].toString('latin1')))
  }
  return seconds
}
