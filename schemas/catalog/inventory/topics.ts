import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { APPEND_TIME, commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import { BY_PRODUCT } from '../partitions.ts'
import type { CartOutcome, InventoryChange, InventoryCommand, StockRow } from '../types.ts'

/** Retention of stock movements. It allows for a replay of the last week after a bug is fixed. */
const CHANGES_KEPT_DAYS = 7

/** Requests about stock; key: product_id. */
export const inventoryCommands: Topic<string, Command<InventoryCommand>> = commandTopic('inventory-commands', {
  value: avro('catalog/InventoryCommand'),
  ...BY_PRODUCT,
  config: { ...commandsKept, ...APPEND_TIME },
})

/** Rows of stock, with the key <variant_id>:<warehouse_id>, and results of commands. Partitioned by product. */
export const inventoryDecisions: Topic<string, Decision<StockRow>> = decisionTopic('inventory-decisions', {
  value: avro('catalog/StockRow'),
  ...BY_PRODUCT,
  config: compacted,
})

/** Every movement of stock and its result; key: product_id. */
export const inventoryChanged: Topic<string, InventoryChange> = {
  name: 'inventory.changed',
  key: utf8,
  value: avro('catalog/InventoryChange'),
  ...BY_PRODUCT,
  config: keptFor(CHANGES_KEPT_DAYS * DAY_MS, HOUR_MS),
}

/** The extensions and ends of carts, with one record for each product in the cart; key: product_id. */
export const reservationOutcomes: Topic<string, CartOutcome> = {
  name: 'reservation-outcomes',
  key: utf8,
  value: avro('catalog/CartOutcome'),
  ...BY_PRODUCT,
  config: { ...keptFor(CHANGES_KEPT_DAYS * DAY_MS, HOUR_MS), ...APPEND_TIME },
}

export const inventoryTopics = [inventoryCommands, inventoryDecisions, inventoryChanged, reservationOutcomes]
