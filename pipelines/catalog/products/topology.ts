import { productFlow } from '../../../schemas/catalog/products/flow.ts'
import { priceChanged, productCreated, productUpdated, sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type { CatalogProductState } from '../../../schemas/catalog/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, timerStore, topology, utf8 } from '../../engine/index.ts'
import { decideProduct } from './decide.ts'
import { nextPeriodTime, takePeriods } from './periods.ts'

/** Interval between checks for periods that begin or end. A shorter interval would wake an idle worker more often. */
export const RUN_PERIODS_EVERY_MS = 250
/**
 * Maximum number of products whose periods one tick begins or ends. The number is limited because a tick delays
 * commands. The next tick continues. With this limit, a partition updates two thousand products a second, which is
 * necessary because many periods begin at midnight.
 */
export const PRODUCTS_PER_TICK = 500

/** The only topology that changes products: their content, their prices and price periods, and their status. */
export const products = topology(
  'products',
  function declareProducts(t) {
    const store = keyedStore('products', { key: utf8, value: avro('catalog/CatalogProductState') })
    const periods = timerStore('periods', { key: utf8 })

    function changed({ key, after }: Change<CatalogProductState>): void {
      const next = after === undefined ? undefined : nextPeriodTime(after)
      if (next === undefined) periods.cancel(key)
      else periods.schedule(key, next)
    }

    const deciding = decideCommands(t, {
      flow: productFlow,
      store,
      decide: decideProduct,
      view: (state) => (state.product.status === 'DELETED' ? null : state),
      changed,
      judgedBy: 'append-time',
      emits: [productCreated, productUpdated, priceChanged, skuUses, sellerProducts],
      stores: [periods],
    })
    const { stores, emits } = deciding

    function runPeriods(now: number, ctx: Context): void {
      for (const { key } of periods.due(now, PRODUCTS_PER_TICK)) {
        const state = store.get(key)
        if (state === undefined) periods.cancel(key)
        else deciding.apply(key, takePeriods(state, now), ctx)
      }
    }

    deciding.stream.tick('run-periods', { everyMs: RUN_PERIODS_EVERY_MS, clock: 'wall', stores, emits }, runPeriods)
  },
  DECIDING,
)
