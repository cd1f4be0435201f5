import type { FraudEvent } from '../../../schemas/fraud/types.ts'

/**
 * Transactions of an entity that were scored and that its profile may not include yet, as fields of a hash:
 *
 * | field | value |
 * |---|---|
 * | hash of the transaction's id, hexadecimal | JSON: time, units, latitude, longitude, then the hashes of user, device, IP, card and merchant; null: unknown |
 */
type Packed = readonly [
  at: number,
  units: number,
  lat: number | null,
  lng: number | null,
  user: number | null,
  device: number | null,
  ip: number | null,
  card: number | null,
  merchant: number | null,
]

const HEX = 16

export function flightField(id: number): string {
  return id.toString(HEX)
}

export function packFlight({ at, units, place, user, device, ip, card, merchant }: FraudEvent): string {
  const packed: Packed = [at, units, place?.lat ?? null, place?.lng ?? null, user, device, ip, card, merchant]
  return JSON.stringify(packed)
}

/** Returns the event without the user's id, which only the pipeline needs. */
export function unpackFlight(field: string, value: string): FraudEvent {
  const [at, units, lat, lng, user, device, ip, card, merchant] = JSON.parse(value) as Packed
  const place = lat === null || lng === null ? null : { lat, lng }
  return { id: Number.parseInt(field, HEX), at, units, place, user, device, ip, card, merchant, user_id: null }
}
