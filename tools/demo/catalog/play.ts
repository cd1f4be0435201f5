import { apiTarget } from '../../config.ts'
import type { DemoClient } from '../http/client.ts'
import { type Count, playRequests } from '../http/play-requests.ts'
import { servedClient } from '../http/served.ts'
import type { DemoService } from '../service.ts'
import { fillCatalogue, type OfferedVariant, sellerCaller } from './fill.ts'
import { type ShopEvent, shopStream } from './stream.ts'

/** Maximum number of events per second. Each event is one to four requests. */
const GREATEST_RATE = 5
const ANYBODY = { subject: '90001' }
const CHECKOUT = { subject: 'demo-checkout', scope: 'internal' }
const WAREHOUSE = 'east'
/** Number of units that arrive when a variant is out of stock. */
const DELIVERY = 20

/** A demo with a catalogue of generated products, and with customers who search, look, buy and review. */
export const catalogDemo: DemoService = {
  name: 'catalog',
  async play(session, { rate, seed, endAt }) {
    const client = await servedClient(session, {
      url: apiTarget(),
      what: 'the product catalogue',
      endAt,
      ask: (api) => api.ask(ANYBODY, 'GET', '/api/v1/categories'),
      isServed: ({ status }) => status === 200,
    })
    if (client === undefined) return
    const offered = await fillCatalogue(client, seed, session.say)
    if (offered.length === 0) return session.say('not played: there is nothing to sell')
    const { next } = shopStream({ seed, rate: Math.min(rate, GREATEST_RATE), startAt: Date.now(), offered })
    await playRequests(session, { next, perform: (event, count) => perform(event, client, count), endAt })
  },
}

/**
 * Performs the event through the API. Refused requests are counted and not repeated, with one exception: if a variant
 * is out of stock, a delivery arrives, and the reservation is repeated.
 */
export async function perform(event: ShopEvent, client: DemoClient, count: Count): Promise<void> {
  switch (event.kind) {
    case 'search': {
      const { code } = await client.ask(ANYBODY, 'GET', `/api/v1/products/search?q=${encodeURIComponent(event.query)}`)
      return count(code || 'searches')
    }
    case 'look': {
      const { code } = await client.ask(ANYBODY, 'GET', `/api/v1/products/${event.variant.productId}`)
      return count(code || 'looks')
    }
    case 'buy':
      return buy(client, event.variant, event.ending, count)
    case 'review': {
      const path = `/api/v1/products/${event.variant.productId}/reviews`
      const { code } = await client.ask({ subject: event.user }, 'POST', path, { stars: event.stars })
      return count(code || 'reviews')
    }
    case 'price': {
      const path = `/api/v1/seller/variants/${event.variant.variantId}/price`
      const { code } = await client.ask(sellerCaller(event.variant.seller), 'PATCH', path, { price_cents: event.cents })
      return count(code || 'prices')
    }
  }
}

async function buy(client: DemoClient, { variantId }: OfferedVariant, ending: 'DEDUCT' | 'RELEASE' | 'left', count: Count): Promise<void> {
  const move = (operation: string, quantity_delta: number, more: object = {}) =>
    client.ask(CHECKOUT, 'PATCH', `/api/v1/inventory/${variantId}`, { warehouse_id: WAREHOUSE, operation, quantity_delta, ...more })

  let reserved = await move('RESERVE', -1)
  if (reserved.code === 'out_of_stock') {
    const { code } = await move('RECEIVE', DELIVERY)
    count(code || 'deliveries')
    reserved = await move('RESERVE', -1)
  }
  if (reserved.code !== '') return count(reserved.code)
  if (ending === 'left') return count('carts left')
  const { code } = await move(ending, -1, { reservation_id: reserved.body.reservation_id })
  count(code || (ending === 'DEDUCT' ? 'sales' : 'carts emptied'))
}
