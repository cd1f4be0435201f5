import { ENTITY_KINDS, type EntityKind } from './entity.ts'
import { hash32, hash48 } from './hash.ts'
import { unitsOf } from './money.ts'
import { PROFILE_SHAPES } from './profile/shape.ts'
import type { FraudEvent, FraudFeedback, FraudRequest } from './types.ts'

/** The ids of the entities of a transaction; null: the request does not name one. */
export type EntityIds = Readonly<Record<EntityKind, string | null>>

/** A transaction as the profile of one of its entities sees it. */
export interface EntityEvent {
  readonly kind: EntityKind
  readonly entityId: string
  readonly event: FraudEvent
}

export function entitiesOf({ payer, payee, payment_instrument, device }: FraudRequest): EntityIds {
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

/**
 * Returns what each entity's profile learns from a transaction. The API adds the same events to the transactions in
 * flight that the pipeline adds to the profiles.
 */
export function eventsOf(request: FraudRequest): EntityEvent[] {
  const ids = entitiesOf(request)
  const { lat, lng } = request.device
  const id = hash48(request.transaction_id)
  const units = unitsOf(request.amount, request.currency)
  const place = isOnEarth(lat, 90) && isOnEarth(lng, 180) ? { lat, lng } : null
  const hashes = {} as Record<EntityKind, number | null>
  for (const kind of ENTITY_KINDS) hashes[kind] = hashOf(ids[kind])
  return ENTITY_KINDS.flatMap((kind): EntityEvent[] => {
    const entityId = ids[kind]
    if (entityId === null) return []
    const { seen, userIds, places } = PROFILE_SHAPES[kind]
    const event: FraudEvent = {
      id,
      at: request.timestamp,
      units,
      place: places > 0 ? place : null,
      user: seen.user === undefined ? null : hashes.user,
      device: seen.device === undefined ? null : hashes.device,
      ip: seen.ip === undefined ? null : hashes.ip,
      card: seen.card === undefined ? null : hashes.card,
      merchant: seen.merchant === undefined ? null : hashes.merchant,
      user_id: userIds > 0 ? request.payer.user_id : null,
    }
    return [{ kind, entityId, event }]
  })
}

/** The API accepts no other places, but they must not spoil a profile. */
function isOnEarth(degrees: number | null, most: number): degrees is number {
  return degrees !== null && Math.abs(degrees) <= most
}

function hashOf(id: string | null): number | null {
  return id === null ? null : hash32(id)
}
