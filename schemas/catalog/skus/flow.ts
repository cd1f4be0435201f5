import type { CommandFlow } from '../../commands/topics.ts'
import type { SkuCommand, SkuOwner } from '../types.ts'
import { skuCommands, skuDecisions } from './topics.ts'

/** The answer to a command about skus. */
export type SkuAnswer =
  /** All of them; epoch ms, when the broker took the command. */
  | { readonly outcome: 'claimed'; readonly claimed_at: number }
  /** None of them, because another product has this one. */
  | { readonly outcome: 'taken'; readonly sku: string }
  | { readonly outcome: 'released' }

export const skuFlow: CommandFlow<SkuCommand, SkuOwner, SkuAnswer> = {
  name: 'catalog-skus',
  commands: skuCommands,
  decisions: skuDecisions,
}
