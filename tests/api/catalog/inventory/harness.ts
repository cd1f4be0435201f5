import { setImmediate } from 'node:timers/promises'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import { inventoryPart } from '../../../../api/catalog/inventory/part.ts'
import { reservationsPart } from '../../../../api/catalog/reservations/part.ts'
import type { OpenCommand } from '../../../../api/kit/commands/commands.ts'
import { variantIdOf } from '../../../../schemas/catalog/ids.ts'
import type { VariantOffer } from '../../../../schemas/catalog/types.ts'
import { cartsView } from '../../../../state/views/catalog/carts.ts'
import { stockView } from '../../../../state/views/catalog/stock.ts'
import { seededRandom } from '../../../../tools/random/random.ts'
import { memoryWorld, STEP_MS } from '../../../chaos/inventory/memory-world.ts'
import { fakeRedis } from '../../../state/views/fake-redis.ts'
import { type TokenClaims, testApp } from '../../kit/harness.ts'

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export interface Asked {
  readonly claims?: TokenClaims | null
  readonly key?: string
  readonly ifMatch?: string
}

export const RESERVATION_MS = 5_000
export const VARIANT = variantIdOf(7, 1)
export const OTHER_VARIANT = variantIdOf(8, 1)
const VIEWS = [stockView, cartsView]
const INTERNAL: TokenClaims = { sub: 'shop', scope: 'internal' }

/** Opens the stock and cart routes with fake servers. The real topologies decide the commands. */
export async function stockApi() {
  const world = memoryWorld(seededRandom(1), { crashes: 0, losses: 0 })
  const redis = fakeRedis()
  for (const { name } of VIEWS) redis.caughtUp(name, 1)
  const offers = new Map<number, VariantOffer>([VARIANT, OTHER_VARIANT].map((id) => [id, 'FOR_SALE']))
  let keys = 0

  const commands: typeof world.commands = {
    ...world.commands,
    async open(from, request): Promise<OpenCommand> {
      return await world.commands.open({ ...from, idempotencyKey: from.idempotencyKey ?? `key-${++keys}` }, request)
    },
  }
  const deps = {
    views: redis.reader as unknown as Parameters<typeof inventoryPart>[0]['views'],
    commands,
    facts: { partitionOf: () => 0, partitionsOf: () => 1 },
    offers: { offersOf: async (ids: readonly number[]) => ids.map((id) => offers.get(id) ?? 'UNKNOWN') },
    reservationMs: RESERVATION_MS,
  }
  const parts = [inventoryPart(deps), reservationsPart(deps)]
  const fields = { name: 'catalog', description: '', isUserId: () => true, errors: Object.values(catalogErrors), probes: [] }
  const api = await testApp({ services: [{ ...fields, routes: parts.flatMap(({ routes }) => routes) }] })

  /** Advances the clock and the topologies by one step. Afterwards, the views contain all decisions. */
  async function step(): Promise<void> {
    await world.step(true)
    redis.flush()
    for (const { name } of VIEWS) redis.caughtUp(name, 1)
    const { inventoryDecisions, reservationDecisions } = world.log()
    for (const { key, value } of inventoryDecisions) if (value?.view != null) redis.apply(stockView.operationsFor(0, key, value.view))
    for (const { key, value } of reservationDecisions) {
      if (value?.result == null) redis.apply(cartsView.operationsFor(0, key, value?.view ?? null))
    }
  }

  async function send(method: string, path: string, body?: unknown, { claims = INTERNAL, key, ifMatch }: Asked = {}): Promise<Reply> {
    const headers = {
      ...(claims === null ? {} : await api.bearer(claims)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    }
    const init = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }
    let isOver = false
    const answer = Promise.resolve(api.app.request(`/api/v1/${path}`, init)).finally(() => {
      isOver = true
    })
    // Time passes only while a command is waiting for its decision, so the load of the machine does not affect the
    // result.
    while (!isOver) await (world.isAsked ? step() : setImmediate())
    const response = await answer
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  return {
    send,
    offers,
    now: () => world.now,
    change: (operation: string, quantity_delta: number, more: object = {}, asked: Asked = {}, variant = VARIANT) =>
      send('PATCH', `inventory/${variant}`, { warehouse_id: 'east', quantity_delta, operation, ...more }, asked),
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += STEP_MS) await step()
    },
  }
}
