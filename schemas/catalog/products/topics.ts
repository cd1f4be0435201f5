import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { APPEND_TIME, commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import { LARGE_RECORDS, type Topic } from '../../topic.ts'
import { BY_PRODUCT, BY_SELLER } from '../partitions.ts'
import type { CatalogProductCommand, CatalogProductState, PriceChanged, ProductEvent, SellerProduct } from '../types.ts'

/** Retention of product events. It allows for a replay of the last week after a bug is fixed. */
const EVENTS_KEPT_DAYS = 7
const eventsKept = keptFor(EVENTS_KEPT_DAYS * DAY_MS, HOUR_MS)

/**
 * Requests about products; key: product_id in decimal. The broker sets the timestamps, because claims for skus expire
 * according to the broker's clock.
 */
export const productCommands: Topic<string, Command<CatalogProductCommand>> = commandTopic('product-commands', {
  value: avro('catalog/CatalogProductCommand'),
  ...BY_PRODUCT,
  config: { ...commandsKept, ...APPEND_TIME },
})

/** Products, and the results of commands about them; key: product_id in decimal. */
export const productDecisions: Topic<string, Decision<CatalogProductState>> = decisionTopic('product-decisions', {
  value: avro('catalog/CatalogProductState'),
  ...BY_PRODUCT,
  config: { ...compacted, ...LARGE_RECORDS },
})

/** New products; key: product_id in decimal. */
export const productCreated: Topic<string, ProductEvent> = {
  name: 'product.created',
  key: utf8,
  value: avro('catalog/ProductEvent'),
  ...BY_PRODUCT,
  config: eventsKept,
}

/** Changes to products, except those that change only prices; key: product_id in decimal. */
export const productUpdated: Topic<string, ProductEvent> = {
  name: 'product.updated',
  key: utf8,
  value: avro('catalog/ProductEvent'),
  ...BY_PRODUCT,
  config: eventsKept,
}

/** New prices of variants; key: product_id in decimal. */
export const priceChanged: Topic<string, PriceChanged> = {
  name: 'price.changed',
  key: utf8,
  value: avro('catalog/PriceChanged'),
  ...BY_PRODUCT,
  config: eventsKept,
}

/**
 * The products of each seller, with the data that lists show; key: <seller_id>:<product_id>, partitioned by seller_id.
 */
export const sellerProducts: Topic<string, SellerProduct> = {
  name: 'seller-products',
  key: utf8,
  value: avro('catalog/SellerProduct'),
  ...BY_SELLER,
  config: compacted,
}
