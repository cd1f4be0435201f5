import { profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import type { CountedSecond } from '../../../schemas/fraud/profile/fold.ts'
import type { FraudEvent, FraudProfile } from '../../../schemas/fraud/types.ts'
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
import type { ProfileKeys } from './profiles.ts'

/**
 * Reads what is known of an entity, then adds a transaction to those in flight, unless it is there already.
 *
 * KEYS: 1 the view's caught-up flag, 2 the profile, 3 the transactions in flight, 4 their counters. ARGV: none to read
 * only; else 1 field and 2 value of the transaction, 3 most in flight, 4 time to live in ms, 5 second and 6 amount for
 * the counters, 7 number of counters from which seconds are joined into minutes, 8 first minute to keep then,
 * 9 first second in which a transaction must have been added to stay in flight. Returns the flag, the profile, the
 * transactions in flight and the counters, each of the last two as fields and values in turn.
 */
export const ENRICH: ViewScript = {
  name: 'enrich',
  returnsBytes: true,
  source: `
local flag, profile = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
local flight, counted = redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4])
local field = ARGV[1]
if not field then return {flag, profile, flight, counted} end
if #flight < 2 * tonumber(ARGV[3]) or redis.call('HEXISTS', KEYS[3], field) == 1 then
  redis.call('HSETNX', KEYS[3], field, ARGV[2])
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
  return {flag, profile, flight, counted}
end
if #counted == 0 or #counted >= 2 * tonumber(ARGV[7]) then
  for index = 1, #flight, 2 do
    if struct.unpack('>I4', flight[index + 1], 2) < tonumber(ARGV[9]) then redis.call('HDEL', KEYS[3], flight[index]) end
  end
end
local function add(counter, count, sum)
  local heldCount, heldSum = string.match(redis.call('HGET', KEYS[4], counter) or '', '^(%d+) (%d+)$')
  redis.call('HSET', KEYS[4], counter, string.format('%d %.0f', (heldCount or 0) + count, (heldSum or 0) + sum))
end
add(ARGV[5], 1, tonumber(ARGV[6]))
redis.call('PEXPIRE', KEYS[4], ARGV[4])
if #counted >= 2 * tonumber(ARGV[7]) then
  for index = 1, #counted, 2 do
    local second = tonumber(counted[index])
    local minute = second and math.floor(second / 60) or tonumber(string.sub(counted[index], 2))
    local isOld = minute < tonumber(ARGV[8])
    if second or isOld then
      local count, sum = string.match(redis.call('HGET', KEYS[4], counted[index]), '^(%d+) (%d+)$')
      redis.call('HDEL', KEYS[4], counted[index])
      if not isOld then add('m' .. string.format('%d', minute), tonumber(count), tonumber(sum)) end
    end
  end
end
return {flag, profile, flight, counted}
`,
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

export function enrichKeys({ caughtUp, profile, flight, counted }: ProfileKeys): string[] {
  return [caughtUp, profile, flight, counted]
}

/**
 * @param now epoch ms
 * @param inFlightMs how long the transaction stays in flight if no profile includes it
 */
export function enrichArguments(event: FraudEvent, now: number, inFlightMs = IN_FLIGHT_MS): (string | number | Buffer)[] {
  const { id, at, units } = event
  const firstMinute = Math.floor((now - COUNTED_FOR_MS) / MINUTE_MS)
  const limits = [firstMinute, Math.floor((now - IN_FLIGHT_MS) / SECOND_MS)]
  return [flightField(id), packFlight(event, now), MOST_IN_FLIGHT, inFlightMs, secondField(at), units, MOST_COUNTERS, ...limits]
}

/** What Redis holds of an entity. */
export interface HeldEntity {
  /** Undefined: the entity has no history. */
  readonly profile: FraudProfile | undefined
  readonly inFlight: readonly FraudEvent[]
  readonly inFlightSeconds: readonly CountedSecond[]
}

/** @returns undefined if nothing can be said, because the view is being built or another version has written it */
export function heldEntity(answer: unknown, now: number): HeldEntity | undefined {
  const [flag, bytes, flight, counted] = answer as [Buffer | null, Buffer | null, Buffer[], Buffer[]]
  if (flag === null) return undefined
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
