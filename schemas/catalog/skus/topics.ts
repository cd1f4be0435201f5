import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { APPEND_TIME, commandsKept, compacted } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import { BY_SKU } from '../partitions.ts'
import type { SkuCommand, SkuOwner, SkuUse } from '../types.ts'

/**
 * Requests about skus; key: one of the skus. All skus of a request belong to the same partition. The broker sets the
 * timestamps, because claims expire according to the broker's clock.
 */
export const skuCommands: Topic<string, Command<SkuCommand>> = commandTopic('sku-commands', {
  value: avro('catalog/SkuCommand'),
  ...BY_SKU,
  config: { ...commandsKept, ...APPEND_TIME },
})

/** Results of commands about skus. */
export const skuDecisions: Topic<string, Decision<SkuOwner>> = decisionTopic('sku-decisions', {
  value: avro('catalog/SkuOwner'),
  ...BY_SKU,
  config: compacted,
})

/** The product that uses each sku; key: sku. Compacted, so that the owners of skus can be rebuilt. */
export const skuUses: Topic<string, SkuUse> = {
  name: 'sku-uses',
  key: utf8,
  value: avro('catalog/SkuUse'),
  ...BY_SKU,
  config: compacted,
}
