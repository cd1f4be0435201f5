import { expect, test } from 'vitest'
import { catalogService } from '../../../../api/catalog/service.ts'
import type { OfferedVariant } from '../../../../tools/demo/catalog/fill.ts'
import { DEMO_CATEGORIES, DEMO_SELLERS, demoProducts } from '../../../../tools/demo/catalog/goods.ts'
import { perform } from '../../../../tools/demo/catalog/play.ts'
import { type ShopEvent, shopStream } from '../../../../tools/demo/catalog/stream.ts'
import type { DemoCaller, Reply } from '../../../../tools/demo/http/client.ts'

const START = Date.UTC(2026, 0, 15, 12)
const OFFERED: readonly OfferedVariant[] = Array.from({ length: 30 }, (_, index) => ({
  productId: 100 + index,
  variantId: 25_600 + index,
  seller: DEMO_SELLERS[index % DEMO_SELLERS.length],
  cents: 1_999,
}))

function played(count: number, seed = 1): ShopEvent[] {
  const { next } = shopStream({ seed, rate: 5, startAt: START, offered: OFFERED })
  return Array.from({ length: count }, next)
}

test('parent categories come first; a seed determines the products, and all SKUs are unique', () => {
  const known = new Set<number>()
  for (const { id, body } of DEMO_CATEGORIES) {
    if (body.parent_id !== null) expect(known).toContain(body.parent_id)
    known.add(id)
  }
  const products = DEMO_SELLERS.flatMap((seller) => demoProducts(1, seller, 20))
  const skus = products.flatMap(({ variants }) => variants.map(({ sku }) => sku))
  expect(new Set(skus).size).toBe(skus.length)
  for (const { category_id } of products) expect(known).toContain(category_id)
  expect(demoProducts(1, DEMO_SELLERS[0], 5)).toEqual(demoProducts(1, DEMO_SELLERS[0], 20).slice(0, 5))
})

test('the example that lists the products of a seller names a seller who has products in the demo', () => {
  const commands = catalogService.examples('http://localhost:8080').map(({ command }) => command)
  const sellers = commands.flatMap((command) => /--sub (\d+) --scope seller/.exec(command)?.[1] ?? [])
  expect(sellers).toHaveLength(1)
  expect(DEMO_SELLERS.map(({ id }) => id)).toContain(sellers[0])
})

test('the shop produces every kind of event in chronological order, and new prices differ from the first price by at most a tenth', () => {
  const events = played(2_000)
  expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => a - b))
  expect(new Set(events.map(({ kind }) => kind)).size).toBe(5)
  for (const event of events) {
    if (event.kind === 'price') expect(Math.abs(event.cents - event.variant.cents)).toBeLessThanOrEqual(0.1 * event.variant.cents + 1)
  }
  expect(played(50)).toEqual(events.slice(0, 50))
})

test('if a variant is out of stock, a delivery arrives, and the repeated reservation becomes a sale', async () => {
  const asked: { path: string; body: unknown; caller: DemoCaller }[] = []
  const counted: string[] = []
  let stock = 0
  const client = {
    async ask(caller: DemoCaller, _method: string, path: string, body?: object): Promise<Reply> {
      asked.push({ path, body, caller })
      const { operation } = body as { operation: string }
      if (operation === 'RECEIVE') stock += 20
      if (operation === 'RESERVE' && stock === 0) return { status: 409, code: 'out_of_stock', body: {} }
      return { status: 200, code: '', body: { reservation_id: 'r1' } }
    },
  }
  await perform({ at: START, kind: 'buy', variant: OFFERED[0], ending: 'DEDUCT' }, client, (what) => counted.push(what))
  expect(asked.map(({ body }) => (body as { operation: string }).operation)).toEqual(['RESERVE', 'RECEIVE', 'RESERVE', 'DEDUCT'])
  expect(asked.at(-1)?.body).toMatchObject({ reservation_id: 'r1', warehouse_id: 'east' })
  expect(new Set(asked.map(({ path }) => path))).toEqual(new Set(['/api/v1/inventory/25600']))
  expect(counted).toEqual(['deliveries', 'sales'])
})
