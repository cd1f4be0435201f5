import type { CommandFlow } from '../../commands/topics.ts'
import type { SkuCommand, SkuOwner } from '../types.ts'
import { skuCommands, skuDecisions } from './topics.ts'

/** The answer to a command about skus. */
export type SkuAnswer =
  /** All skus are claimed. `claimed_at` is the time at which the broker appended the command, epoch ms. */
  | { readonly outcome: 'claimed'; readonly claimed_at: number }
  /** No sku is claimed, because another product has this sku. */
  | { readonly outcome: 'taken'; readonly sku: string }
  | { readonly outcome: 'released' }

export const skuFlow: CommandFlow<SkuCommand, SkuOwner, SkuAnswer> = {
  name: 'catalog-skus',
  commands: skuCommands,
  decisions: skuDecisions,
}
