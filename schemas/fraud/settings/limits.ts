const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MIB = 1_048_576

/** Maximum number of rules. The limit for active rules is `MAX_ACTIVE_RULES`. */
export const MAX_RULES = 1_000
/**
 * Maximum size of the JSON of all rules, in UTF-8 bytes. All rules are stored in one record, so that a change is
 * atomic.
 */
export const MAX_RULE_SET_BYTES = MIB
/** Number of restorable versions of the rule set, including the current one. */
export const KEPT_VERSIONS = 50
export const MAX_LISTS = 100
export const MAX_LIST_VALUES = 10_000
/** Maximum size of the JSON of a list's values in UTF-8 bytes. */
export const MAX_LIST_BYTES = MIB
export const MAX_SNOOZES = 10_000
export const MAX_SNOOZE_HOURS = 720
/** How long a challenger must have run before it can become the champion without `force`. */
export const TRIAL_MS = 7 * DAY_MS
/** Number of earlier champions that are kept and can be restored. */
export const KEPT_CHAMPIONS = 10

export function hoursMs(hours: number): number {
  return hours * HOUR_MS
}

/** Returns the size of a value's JSON in UTF-8 bytes. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
