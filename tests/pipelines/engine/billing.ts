import { topology } from '../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { numberFormat, numberTopic, textTopic } from './words.ts'

/** Creates a topology that emits the price at the time of each order, or -1 if there was no price yet. */
export function billing(maxIdleMs?: number, name = 'billing') {
  const orders = textTopic(`${name}-orders`, 1)
  const prices = numberTopic(`${name}-prices`, 1)
  const bills = numberTopic(`${name}-bills`, 1)
  const flow = topology(
    name,
    (t) => {
      const current = keyedStore('current', { key: utf8, value: numberFormat })
      t.source(orders).process('bill', { stores: [current], emits: [bills] }, (_, ctx) =>
        ctx.emit(bills, ctx.key, current.get(ctx.key ?? '') ?? -1),
      )
      t.source(prices).process('price', { stores: [current] }, (price, ctx) => current.put(ctx.key ?? '', price))
    },
    { maxIdleMs },
  )
  return { flow, orders, prices, bills }
}

/** A note for orders. The note is so long that about forty orders fill the record queue of a task. */
export const LONG_NOTE = 'x'.repeat(100_000)
