import { packedProfileBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { EVENT_BYTES, eventId, eventTime, eventUnits } from '../../../schemas/fraud/profile/events.ts'
import { type PackedProfile, parseProfile } from '../../../schemas/fraud/profile/packed.ts'
import { caughtUpKey, type View, type ViewOperation, viewTag } from '../view.ts'
import { counterFields, FLIGHT_BYTES, flightId } from './in-flight.ts'

/**
 * Profiles of entities, and their transactions in flight. Fed by the changelog of the profiles and partitioned like it.
 * All keys of an entity share a hash tag, so that one script can read and write them. When the sink writes a profile
 * that includes a transaction, it removes the transaction from the transactions in flight in the same step.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-profiles:<p>}:profile:<kind>:<id>` | the profile: schemas/fraud/profile/bytes.ts |
 * | `{fraud-profiles:<p>}:in-flight:<kind>:<id>` | transactions in flight: see in-flight.ts |
 * | `{fraud-profiles:<p>}:counted:<kind>:<id>` | hash: counters of the transactions above the limit: see in-flight.ts |
 */
export const FRAUD_PROFILES_VIEW = 'fraud-profiles'

export const fraudProfilesView: View<string, PackedProfile> = {
  name: FRAUD_PROFILES_VIEW,
  operationsFor(partition, entity, profile) {
    const keys = profileKeys(partition, entity)
    if (profile === null) return [{ op: 'del', key: keys.profile }]
    const operations: ViewOperation[] = [{ op: 'set', key: keys.profile, value: packedProfileBytes(profile) }]
    const included = profile.bytes.subarray(parseProfile(profile).includedRowsAt, profile.end)
    const items = Array.from({ length: included.length / EVENT_BYTES }, (_, row) => ({
      start: flightId(eventId(included, row)),
      counters: counterFields(eventTime(included, row)),
      amount: eventUnits(included, row),
    }))
    if (items.length > 0) operations.push({ op: 'removeRows', key: keys.flight, rowBytes: FLIGHT_BYTES, items, counters: keys.counted })
    return operations
  },
}

/** @param entity the key of the entity's profile: `<kind>:<id>` */
export function profileKeys(partition: number, entity: string) {
  const tag = viewTag(FRAUD_PROFILES_VIEW, partition)
  return {
    caughtUp: caughtUpKey(FRAUD_PROFILES_VIEW, partition),
    profile: `${tag}:profile:${entity}`,
    flight: `${tag}:in-flight:${entity}`,
    counted: `${tag}:counted:${entity}`,
  }
}
