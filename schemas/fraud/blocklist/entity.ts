import { createHash } from 'node:crypto'
import { canonicalEmail, canonicalId, canonicalIp } from '../canonical.ts'
import type { PersonalHashes } from '../personal-hash.ts'
import type { FraudBlocklistType } from '../types.ts'

/** The types of entities that can be blocked, in the order in which a transaction is checked. */
export const BLOCKLIST_TYPES = ['USER', 'DEVICE', 'IP', 'CARD_HASH', 'EMAIL'] as const satisfies readonly FraudBlocklistType[]

/** What the blocklist stores about an entity. */
export interface BlockedEntity {
  readonly entity_type: FraudBlocklistType
  /** The value in canonical form; for EMAIL, a keyed hash of the address. */
  readonly entity_value: string
  /**
   * The masked form of an e-mail address for analysts. For other types it is null, because analysts may see the values
   * of these types.
   */
  readonly masked_value: string | null
}

/** Length of an entry's id: 128 bits in hexadecimal digits. */
const ENTRY_ID_CHARACTERS = 32
const ENTRY_ID = /^[0-9a-f]{32}$/

/** Returns the entity that a value identifies, in canonical form; undefined if the value is not valid for the type. */
export function blockedEntity(type: FraudBlocklistType, value: string, hashes: Pick<PersonalHashes, 'email'>): BlockedEntity | undefined {
  if (type === 'EMAIL') {
    const address = canonicalEmail(value)
    const masked_value = maskedEmail(address)
    return masked_value === undefined ? undefined : { entity_type: type, entity_value: hashes.email(address), masked_value }
  }
  const canonical = type === 'IP' ? canonicalIp(value) : canonicalId(value)
  return canonical === undefined || canonical === '' ? undefined : { entity_type: type, entity_value: canonical, masked_value: null }
}

/** Returns the key of an entry in `fraud-blocklist`. A type contains no colon; a value may contain several. */
export function blocklistKey({ entity_type, entity_value }: Pick<BlockedEntity, 'entity_type' | 'entity_value'>): string {
  return `${entity_type}:${entity_value}`
}

/** Returns the id of an entity's entry. The id appears in URL paths, so it must not reveal personal data. */
export function entryIdOf(entity: Pick<BlockedEntity, 'entity_type' | 'entity_value'>): string {
  return createHash('sha256').update(blocklistKey(entity)).digest('hex').slice(0, ENTRY_ID_CHARACTERS)
}

export function isEntryId(text: string): boolean {
  return ENTRY_ID.test(text)
}

/**
 * Masks an address except for the first character and the domain: `a***@example.com`.
 * @returns undefined if the text is not an address
 */
function maskedEmail(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  if (at < 1 || at === address.length - 1 || /\s/.test(address)) return undefined
  const [first] = address
  return `${first}***${address.slice(at)}`
}
