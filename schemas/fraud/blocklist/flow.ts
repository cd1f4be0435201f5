import type { CommandFlow } from '../../commands/topics.ts'
import type { FraudBlocklistCommand, FraudBlocklistEntry } from '../types.ts'
import { fraudBlocklistCommands, fraudBlocklistDecisions } from './topics.ts'

/**
 * The answer to a command about an entry. `exists`: the entity already has an equal entry. `conflict`: the entity has a
 * different entry. `not_found`: the entity has no entry.
 */
export type BlocklistAnswer =
  | { readonly outcome: 'created' | 'exists' | 'conflict' | 'changed' | 'removed'; readonly entry: FraudBlocklistEntry }
  | { readonly outcome: 'not_found' }

export const blocklistFlow: CommandFlow<FraudBlocklistCommand, FraudBlocklistEntry, BlocklistAnswer> = {
  name: 'fraud-blocklist',
  commands: fraudBlocklistCommands,
  decisions: fraudBlocklistDecisions,
}
