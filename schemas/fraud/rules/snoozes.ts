import type { Facts } from './facts.ts'
import { type FieldName, slotOf } from './fields.ts'

/** Types of entities that a rule can skip, with the fields that contain their ids. */
const ENTITY_FIELDS = {
  USER: 'payer.user_id',
  DEVICE: 'device.fingerprint_id',
  IP: 'device.ip_address',
  CARD_HASH: 'payment.card_hash',
  EMAIL: 'payer.email_hash',
  MERCHANT: 'payee.merchant_id',
} as const satisfies Record<string, FieldName>

export type SnoozeEntity = keyof typeof ENTITY_FIELDS

/** Makes one rule skip one entity for some time. */
export interface Snooze {
  readonly rule_id: string
  readonly entity_type: SnoozeEntity
  /** The id as it appears in the field; for EMAIL, a keyed hash. */
  readonly entity_value: string
  /** Time from which the rule skips the entity, epoch ms. */
  readonly created_at: number
  /** Time from which the rule applies again, epoch ms. */
  readonly until: number
}

export type SnoozedPeriod = Pick<Snooze, 'created_at' | 'until'>

/** Periods of snoozes, keyed by rule and then by entity. */
export type Snoozes = ReadonlyMap<string, ReadonlyMap<string, SnoozedPeriod>>

export const NO_SNOOZES: Snoozes = new Map()

const SLOTS = Object.entries(ENTITY_FIELDS).map(([type, field]) => ({ type, slot: slotOf(field) }))

/**
 * Indexes snoozes for evaluation. If two snoozes have the same rule and entity, the one with the later end time
 * applies.
 */
export function snoozesOf(snoozes: Iterable<Snooze>): Snoozes {
  const byRule = new Map<string, Map<string, SnoozedPeriod>>()
  for (const { rule_id, entity_type, entity_value, created_at, until } of snoozes) {
    const periods = byRule.get(rule_id) ?? new Map<string, SnoozedPeriod>()
    const key = keyOf(entity_type, entity_value)
    if (until >= (periods.get(key)?.until ?? until)) periods.set(key, { created_at, until })
    byRule.set(rule_id, periods)
  }
  return byRule
}

/** Returns whether a rule skips any entity of a transaction at a time in epoch ms. */
export function isSnoozed(snoozes: Snoozes, ruleId: string, facts: Facts, at: number): boolean {
  const periods = snoozes.get(ruleId)
  if (periods === undefined) return false
  return SLOTS.some(({ type, slot }) => {
    const value = facts[slot]
    const period = typeof value === 'string' ? periods.get(keyOf(type, value)) : undefined
    return period !== undefined && at >= period.created_at && at < period.until
  })
}

function keyOf(type: string, value: string): string {
  return `${type}:${value}`
}
