import type { EntityKind } from '../entity.ts'
import type { FraudEntityVerdict, FraudProfile, FraudRiskTier } from '../types.ts'
import { PROFILE_SHAPES } from './shape.ts'
import { withSums } from './sums.ts'

const ONE_STEP_DOWN: Readonly<Record<FraudRiskTier, FraudRiskTier>> = { HIGH: 'ELEVATED', ELEVATED: 'NORMAL', NORMAL: 'NORMAL' }

export type EntityVerdict = Omit<FraudEntityVerdict, 'entity'>

/**
 * Applies a verdict to one of the entities of its transaction. A confirmed fraud raises the tier of a user or device to
 * HIGH, and a false positive lowers it by one step. A correction reverts the counts of the earlier verdict. In windows,
 * a fraud is counted at the time of its verdict, because a fraud often becomes known only weeks after its transaction.
 */
export function foldVerdict(profile: FraudProfile, kind: EntityKind, { verdict, previous, at, previous_at }: EntityVerdict): FraudProfile {
  if (verdict === previous) return profile
  const { levels, hasTier } = PROFILE_SHAPES[kind]
  const next = { ...profile }
  if (hasTier && verdict === 'CONFIRMED_FRAUD') next.tier = 'HIGH'
  if (hasTier && verdict === 'FALSE_POSITIVE') next.tier = ONE_STEP_DOWN[profile.tier]
  if (verdict === 'CONFIRMED_FRAUD') count(at, 1)
  else if (previous === 'CONFIRMED_FRAUD') count(previous_at ?? at, -1)

  function count(time: number, by: number): void {
    next.fraud_count = Math.max(0, profile.fraud_count + by)
    if (kind === 'merchant') next.sums = withSums(profile.sums, [{ at: time, count: 0, frauds: by, units: 0 }], levels, profile.newest_at)
  }
  return next
}
