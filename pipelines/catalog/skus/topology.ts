import { skuFlow } from '../../../schemas/catalog/skus/flow.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type { SkuUse } from '../../../schemas/catalog/types.ts'
import {
  avro,
  type Context,
  DECIDING,
  decideCommands,
  drop,
  keyedStore,
  type RecordContext,
  timerStore,
  topology,
  utf8,
} from '../../engine/index.ts'
import { skuDecider } from './decide.ts'

const END_EVERY_MS = 1_000
/**
 * Maximum number of claims that one tick ends. The number is limited because a tick delays commands. The next tick
 * continues.
 */
const ENDED_PER_TICK = 1_000

/**
 * The only topology that assigns skus to products. Before the `products` topology decides a request, the API claims the
 * request's skus here. Records then report which skus the product uses.
 */
export const skus = topology(
  'skus',
  function declareSkus(t) {
    const owners = keyedStore('owners', { key: utf8, value: avro('catalog/SkuOwner') })
    const ends = timerStore('ends', { key: utf8 })
    const decider = skuDecider({ owners, ends })
    const deciding = decideCommands(t, {
      flow: skuFlow,
      store: owners,
      decide: decider.decide,
      // The view stays empty, because clients read only the answers.
      view: () => null,
      rows: { stores: [owners, ends], reads: ({ skus: asked }, _key, rows) => asked.forEach((sku) => void rows.prefetch(owners, sku)) },
      judgedBy: 'append-time',
    })
    const { stores, emits } = deciding

    function takeUse(use: SkuUse, ctx: RecordContext<string>) {
      const changes = decider.use(ctx.key, owners.get(ctx.key), use)
      if (changes === undefined) return drop('sku_of_another_product')
      deciding.apply(ctx.key, changes, ctx)
    }

    function endClaims(now: number, ctx: Context): void {
      for (const { key } of ends.due(now, ENDED_PER_TICK)) deciding.apply(key, decider.end(key), ctx)
    }

    // The caught-up clock guarantees that all uses that were recorded before the end of a claim are processed before
    // the claim ends. This holds even after a long downtime.
    deciding.stream.tick('end-claims', { everyMs: END_EVERY_MS, clock: 'caught-up', stores, emits }, endClaims)
    t.source(skuUses).process('take-use', { reads: (_use, sku) => owners.prefetch(sku), stores, emits }, takeUse)
  },
  DECIDING,
)
