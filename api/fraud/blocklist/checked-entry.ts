import { type BlockedEntity, blockedEntity } from '../../../schemas/fraud/blocklist/entity.ts'
import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { FraudBlocklistType } from '../../../schemas/fraud/types.ts'
import { hasCardNumber } from '../score/card-number.ts'
import type { NewEntry } from './model.ts'

/** An entry that has passed all checks. */
export interface CheckedEntry {
  readonly entity: BlockedEntity
  readonly attributes: Pick<NewEntry, 'reason' | 'blocked_by' | 'ttl_hours'>
}

/**
 * The result of checking an entry. `fault` says why the value cannot be blocked. If it is `none`, `checked` is the
 * checked entry. `raw_card_number` means that the value contains a card number, which must not be stored.
 */
export type EntryFault =
  | { readonly fault: 'wrong_value' | 'raw_card_number'; readonly message: string }
  | { readonly fault: 'none'; readonly checked: CheckedEntry }

/**
 * Maximum lengths, in code points. No value of a scoring request is longer, so an entry with a longer value would never
 * match.
 */
const LONGEST: Readonly<Record<FraudBlocklistType, number>> = { USER: 50, DEVICE: 128, IP: 320, CARD_HASH: 128, EMAIL: 320 }

export function checkedEntry({ entity_type, entity_value, ...attributes }: NewEntry, hashes: PersonalHashes): EntryFault {
  if (entity_type === 'CARD_HASH' && hasCardNumber(entity_value)) {
    return { fault: 'raw_card_number', message: 'contains the number of a payment card; block the token of the card instead' }
  }
  const longest = LONGEST[entity_type]
  if ([...entity_value].length > longest) return wrong(`must have at most ${longest} characters`)
  const entity = blockedEntity(entity_type, entity_value, hashes)
  if (entity !== undefined) return { fault: 'none', checked: { entity, attributes } }
  if (entity_type === 'IP') return wrong('must be an IP address; use a rule to block a network')
  return wrong(entity_type === 'EMAIL' ? 'must be an e-mail address' : 'must not be empty')
}

function wrong(message: string): EntryFault {
  return { fault: 'wrong_value', message }
}
