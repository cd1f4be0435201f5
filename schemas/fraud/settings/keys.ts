import { createHash } from 'node:crypto'
import type { FraudSnooze } from '../types.ts'

/** The keys of settings in the store and in topics. */
export const RULES_KEY = 'rules'
export const MODELS_KEY = 'models'
export const COUNTS_KEY = 'counts'
const LIST_PREFIX = 'list:'
const SNOOZE_PREFIX = 'snooze:'
const VERSION_PREFIX = 'version:'
const SNOOZE_ID_CHARACTERS = 16

export function listKey(name: string): string {
  return LIST_PREFIX + name
}

export function snoozeKey(snoozeId: string): string {
  return SNOOZE_PREFIX + snoozeId
}

/** Returns the key of a restorable version of the rule set. */
export function versionKey(version: number): string {
  return VERSION_PREFIX + version
}

export function isVersionKey(key: string): boolean {
  return key.startsWith(VERSION_PREFIX)
}

/** Returns the id of a snooze. All snoozes with the same rule and entity have the same id. */
export function snoozeIdOf({ rule_id, entity_type, entity_value }: Pick<FraudSnooze, 'rule_id' | 'entity_type' | 'entity_value'>): string {
  const hash = createHash('sha256').update(JSON.stringify([rule_id, entity_type, entity_value]))
  return hash.digest('base64url').slice(0, SNOOZE_ID_CHARACTERS)
}
