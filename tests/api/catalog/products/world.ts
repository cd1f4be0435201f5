import { createHash } from 'node:crypto'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import type { StoredImage } from '../../../../api/catalog/images/images.ts'
import { productsPart } from '../../../../api/catalog/products/part.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import type { Commands, OpenCommand } from '../../../../api/kit/commands/commands.ts'
import { idempotencyConflict } from '../../../../api/kit/commands/idempotency.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { products } from '../../../../pipelines/catalog/products/topology.ts'
import { skus } from '../../../../pipelines/catalog/skus/topology.ts'
import { decisionDriver } from '../../../../pipelines/engine/testing.ts'
import { productFlow } from '../../../../schemas/catalog/products/flow.ts'
import { priceChanged, sellerProducts } from '../../../../schemas/catalog/products/topics.ts'
import { skuFlow } from '../../../../schemas/catalog/skus/flow.ts'
import { skuUses } from '../../../../schemas/catalog/skus/topics.ts'
import type { CatalogProductCommand, SkuCommand } from '../../../../schemas/catalog/types.ts'
import type { CommandFlow } from '../../../../schemas/commands/topics.ts'
import { catalogDetailsView } from '../../../../state/views/catalog/catalog-details.ts'
import { categoryLeadersView } from '../../../../state/views/catalog/category-leaders.ts'
import { catalogProductsView } from '../../../../state/views/catalog/products.ts'
import { sellerProductsView } from '../../../../state/views/catalog/seller-products.ts'
import { sellersView } from '../../../../state/views/catalog/sellers.ts'
import { stockView } from '../../../../state/views/catalog/stock.ts'
import { caughtUpKey, type View } from '../../../../state/views/view.ts'
import { fakeRedis } from '../../../state/views/fake-redis.ts'
import { START, type TokenClaims, testApp } from '../../kit/harness.ts'

/** Number of partitions of the sku topics. The skus of a request with many variants are spread over all of them. */
const SKU_PARTITIONS = 3
export const CATEGORY = 12

const body = { title: 'Shoe', category_id: CATEGORY, variants: [{ sku: 'a', price_cents: 1_000 }] }

/**
 * Opens the product API with fake servers. The real topologies decide its commands, and their output reaches the views
 * immediately.
 */
export async function productsApi() {
  const sized = { partitions: Object.fromEntries([skuFlow.commands, skuFlow.decisions, skuUses].map(({ name }) => [name, SKU_PARTITIONS])) }
  const deciders = {
    [productFlow.name]: decisionDriver(products, productFlow, { startAt: START }),
    [skuFlow.name]: decisionDriver(skus, skuFlow, { startAt: START, ...sized }),
  }
  const ofProducts = deciders[productFlow.name] as ReturnType<typeof decisionDriver<CatalogProductCommand, never, never>>
  const ofSkus = deciders[skuFlow.name] as ReturnType<typeof decisionDriver<SkuCommand, never, never>>
  const redis = fakeRedis()
  const clock = { now: START }
  /** The commands that were run, in order, each as `<flow> <step>`. */
  const ran: string[] = []
  /** All images that were read, valid or not. */
  const kept: Buffer[] = []
  const faults = { lost: undefined as string | undefined }
  /** Values stored for requests with an Idempotency-Key, so that a repeated request gets the same values. */
  const values = new Map<string, unknown>()
  let ids = 0

  const facts = {
    partitionOf: ({ name }: { readonly name: string }, key: unknown) =>
      name === skuFlow.commands.name ? partitionFor(Buffer.from(String(key)), SKU_PARTITIONS) : 0,
    partitionsOf: () => 1,
  }

  function feed<K, V>(view: View<K, V>, key: K, value: V | null): void {
    redis.apply(view.operationsFor(0, key, value))
  }

  /** Passes the records that the product topology emitted to the views and to the sku topology. */
  function follow(key: string): void {
    feed(catalogProductsView, key, (ofProducts.view(key) as never) ?? null)
    for (const { key: listed, value } of ofProducts.driver.read(sellerProducts)) feed(sellerProductsView, listed as string, value)
    for (const { key: sku, value } of ofProducts.driver.read(skuUses)) ofSkus.driver.pipe(skuUses, sku, value)
  }

  async function run<C, V, A>(
    id: string,
    requestHash: string,
    flow: CommandFlow<C, V, A>,
    key: string,
    command: C,
    step?: string,
  ): Promise<A> {
    const name = `${flow.name} ${step}`
    ran.push(name)
    const decider = deciders[flow.name] as unknown as ReturnType<typeof decisionDriver<C, V, A>>
    const result = decider.result(key, command, { id: `${id}:${step}`, requestHash })
    if (flow.name === productFlow.name) follow(key)
    // Simulates an answer that gets lost after the decision.
    if (faults.lost !== undefined && name.includes(faults.lost)) throw new ApiError(errors.unavailable)
    if (result === undefined) throw new ApiError(errors.unavailable)
    if (result.outcome === 'conflict') throw idempotencyConflict()
    return JSON.parse(result.answer) as A
  }

  const commands: Commands = {
    async open({ idempotencyKey }, request): Promise<OpenCommand> {
      const id = idempotencyKey ?? `command-${++ids}`
      const hash = JSON.stringify(request)
      async function once<T>(name: string, compute: () => T): Promise<T> {
        if (idempotencyKey === undefined) return compute()
        const known = values.get(`${id}:${name}`)
        if (known !== undefined) return known as T
        const value = compute()
        values.set(`${id}:${name}`, value)
        return value
      }
      return { id, run: (flow, key, command, step) => run(id, hash, flow, key, command, step), once }
    },
    isRepeated: async () => false,
    probe: { name: 'results', check: async () => undefined },
    close() {},
  }

  const tree = categoryTree([{ category_id: CATEGORY, parent_id: null, name: 'Shoes', slug: 'shoes' } as never])
  const part = productsPart({
    views: redis.reader,
    sharedViews: { ...redis.reader, getBuffer: async (key) => (await redis.reader.mgetBuffer([key]))[0] },
    facts: facts as never,
    commands,
    categories: { tree },
    images: {
      keep(bytes) {
        kept.push(bytes)
        return keepImage(bytes)
      },
    },
    currency: 'EUR',
    publicUrl: 'http://localhost:8080',
    monotonic: () => clock.now,
    now: () => clock.now,
    async pause(ms) {
      clock.now += ms
    },
  })
  for (const view of [catalogProductsView, sellerProductsView, stockView, catalogDetailsView, sellersView, categoryLeadersView])
    redis.apply([{ op: 'set', key: caughtUpKey(view.name, 0), value: '1' }])
  const service = {
    name: 'catalog',
    description: '',
    isUserId: isDecimalUserId,
    probes: [],
    routes: part.routes,
    errors: Object.values(catalogErrors),
  }
  const api = await testApp({ services: [service] })

  interface SendOptions {
    /** The body: a form, or any other value that is sent as JSON. */
    readonly body?: unknown
    /** Claims of the caller's token. Default: seller 7. */
    readonly as?: TokenClaims
    readonly headers?: Record<string, string>
  }

  async function send(method: string, path: string, { body: sent, as = SELLER, headers }: SendOptions = {}) {
    const isJson = sent !== undefined && !(sent instanceof FormData)
    const response = await api.app.request(`/api/v1/seller/${path}`, {
      method,
      headers: { ...(isJson && { 'content-type': 'application/json' }), ...(await api.bearer(as)), ...headers },
      body: isJson ? JSON.stringify(sent) : (sent as FormData | undefined),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

  function advance(ms: number): void {
    clock.now += ms
    api.clock.now += ms
    ofSkus.driver.advanceWallClock(ms)
    ofProducts.driver.advanceWallClock(ms)
    for (const { key } of ofProducts.driver.read(priceChanged)) follow(key as string)
  }

  return {
    ...api,
    send,
    advance,
    ran,
    kept,
    faults,
    redis,
    create: (more: object = {}, options: Omit<SendOptions, 'body'> = {}) =>
      send('POST', 'products', { body: { ...body, ...more }, ...options }),
    replace: (id: number, more: object = {}, options: Omit<SendOptions, 'body'> = {}) =>
      send('PUT', `products/${id}`, { body: { ...body, ...more }, ...options }),
  }
}

export const SELLER: TokenClaims = { sub: '7', scope: 'seller' }
export const OTHER: TokenClaims = { sub: '8', scope: 'seller' }
export const ADMIN: TokenClaims = { sub: 'root', scope: 'admin' }

/** Accepts everything as an image, except files that begin with `bad`. */
async function keepImage(bytes: Buffer): Promise<StoredImage> {
  if (bytes.toString().startsWith('bad')) throw new ApiError(catalogErrors.invalid_image)
  return { content_hash: createHash('sha256').update(bytes).digest('hex'), content_type: 'image/png', width: 4, height: 3 }
}
