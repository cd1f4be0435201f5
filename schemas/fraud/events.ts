import { ENTITY_KINDS, type EntityKind } from './entity.ts'
import type { FraudEvent } from './event.ts'
import { hash32, hash48 } from './hash.ts'
import { unitsOf } from './money.ts'
import { PROFILE_SHAPES } from './profile/shape.ts'
import type { FraudFeedback, FraudRequest } from './types.ts'

/** The ids of the entities of a transaction; null for an entity that the request does not name. */
export type EntityIds = Readonly<Record<EntityKind, string | null>>

/** The part of a transaction that the profile of one entity records. */
export interface EntityEvent {
  readonly kind: EntityKind
  readonly entityId: string
  readonly event: FraudEvent
}

/** The part of a request that profiles need. */
export interface CountedRequest extends Pick<FraudRequest, 'transaction_id' | 'timestamp' | 'amount' | 'currency'> {
  readonly payer: Pick<FraudRequest['payer'], 'user_id'>
  readonly payee: Pick<FraudRequest['payee'], 'merchant_id'>
  readonly payment_instrument: Pick<FraudRequest['payment_instrument'], 'card_hash'>
  readonly device: Pick<FraudRequest['device'], 'fingerprint_id' | 'ip_address' | 'lat' | 'lng'>
}

export function entitiesOf({ payer, payee, payment_instrument, device }: CountedRequest): EntityIds {
  return {
    user: payer.user_id,
    device: device.fingerprint_id,
    ip: device.ip_address,
    card: payment_instrument.card_hash,
    merchant: payee.merchant_id,
  }
}

export function judgedEntities({ user_id, device, ip, card, merchant }: FraudFeedback): EntityIds {
  return { user: user_id, device, ip, card, merchant }
}

/** The facts about a transaction that do not depend on the profile. */
export interface CountedFacts extends Pick<FraudEvent, 'id' | 'at' | 'units' | 'place'> {
  readonly ids: EntityIds
}

export function factsOf(request: CountedRequest): CountedFacts {
  const { lat, lng } = request.device
  return {
    id: hash48(request.transaction_id),
    at: request.timestamp,
    units: unitsOf(request.amount, request.currency),
    place: isOnEarth(lat, 90) && isOnEarth(lng, 180) ? { lat, lng } : null,
    ids: entitiesOf(request),
  }
}

/**
 * Returns the events of a transaction, one for the profile of each of its entities. The API adds these events, except
 * the merchant's event, to the transactions in flight. The pipeline adds the same data to the profiles, but in packed
 * rows.
 */
export function eventsOf(request: CountedRequest): EntityEvent[] {
  const { id, at, units, place, ids } = factsOf(request)
  const user = hashOf(ids.user)
  const device = hashOf(ids.device)
  const ip = hashOf(ids.ip)
  const card = hashOf(ids.card)
  const merchant = hashOf(ids.merchant)
  const events: EntityEvent[] = []
  for (const kind of ENTITY_KINDS) {
    const entityId = ids[kind]
    if (entityId === null) continue
    const { seen, userIds, places } = PROFILE_SHAPES[kind]
    const event: FraudEvent = {
      id,
      at,
      units,
      place: places > 0 ? place : null,
      user: seen.user === undefined ? null : user,
      device: seen.device === undefined ? null : device,
      ip: seen.ip === undefined ? null : ip,
      card: seen.card === undefined ? null : card,
      merchant: seen.merchant === undefined ? null : merchant,
      user_id: userIds > 0 ? request.payer.user_id : null,
    }
    events.push({ kind, entityId, event })
  }
  return events
}

/**
 * Returns whether a coordinate is given and valid. The API rejects invalid coordinates, but an event might contain them
 * anyway, and a profile must not contain them.
 * @param most the maximum of the coordinate's absolute value, in degrees
 */
function isOnEarth(degrees: number | null, most: number): degrees is number {
  return degrees !== null && Math.abs(degrees) <= most
}

function hashOf(id: string | null): number | null {
  return id === null ? null : hash32(id)
}
