import { apiTarget } from '../../config.ts'
import type { DemoClient } from '../http/client.ts'
import { type Count, playRequests } from '../http/play-requests.ts'
import { servedClient } from '../http/served.ts'
import type { DemoService } from '../service.ts'
import { type VisitEvent, visitStream } from './stream.ts'

/** Maximum number of events per second. Each event is one request. */
const GREATEST_RATE = 5
const ANYBODY = { subject: '91001' }
const PRODUCTS = 100
const FEWEST_PRODUCTS = 1
const SHELF = 10

/** A demo with visitors who request lists of recommendations, and who view, click, buy or skip products. */
export const recommendationsDemo: DemoService = {
  name: 'recommendations',
  async play(session, { rate, seed, endAt }) {
    const client = await servedClient(session, {
      url: apiTarget(),
      what: 'recommendations of products',
      endAt,
      ask: (api) => api.ask(ANYBODY, 'GET', `/api/v1/products/search?page_size=${PRODUCTS}`),
      isServed: ({ status, body }) => status === 200 && body.results.length >= FEWEST_PRODUCTS,
    })
    if (client === undefined) return
    const shelves = await shelvesOf(client)
    if (shelves.length === 0) return session.say('not played: there are no products')
    const { next } = visitStream({ seed, rate: Math.min(rate, GREATEST_RATE), startAt: Date.now(), shelves })
    await playRequests(session, { next, perform: (event, count) => perform(event, client, count), endAt })
  },
}

/** Returns product ids from a search, grouped by category. */
async function shelvesOf(client: DemoClient): Promise<string[][]> {
  const { body } = await client.ask(ANYBODY, 'GET', `/api/v1/products/search?page_size=${PRODUCTS}`)
  const found = (body?.results ?? []) as { readonly product_id: number; readonly category: unknown }[]
  const byCategory = Map.groupBy(found, ({ category }) => JSON.stringify(category))
  return [...byCategory.values()].map((products) => products.slice(0, SHELF).map(({ product_id }) => String(product_id)))
}

/** Performs the event through the API. Refused requests are counted and not repeated. */
async function perform({ user, kind, itemId }: VisitEvent, client: DemoClient, count: Count): Promise<void> {
  const caller = { subject: user }
  if (kind === 'list') {
    const { code } = await client.ask(caller, 'GET', '/api/v1/recommendations')
    return count(code || 'lists')
  }
  const { code } = await client.ask(caller, 'POST', '/api/v1/events', { item_id: itemId, event_type: kind })
  count(code || 'events')
}
