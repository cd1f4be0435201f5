import type { FraudProfile } from '../../../schemas/fraud/types.ts'

/** Returns the contents of a profile that do not depend on the order in which transactions were added. */
export function comparable({ mean_usd, m2_usd, users, devices, ips, cards, merchants, ...rest }: FraudProfile) {
  return { ...rest, seen: [users, devices, ips, cards, merchants].map(seenRows) }
}

/**
 * Returns a row for each entity that was seen, in hexadecimal and sorted. A row contains the hash of the entity and the
 * times of its first and last sighting.
 */
function seenRows(rows: Buffer): string[] {
  return Array.from({ length: rows.length / 16 }, (_, row) => rows.subarray(row * 16, (row + 1) * 16).toString('hex')).sort()
}
