import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { skuClaims } from '../../../../api/catalog/products/sku-claims.ts'
import { productWriter } from '../../../../api/catalog/products/write.ts'
import type { OpenCommand } from '../../../../api/kit/commands/commands.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { products } from '../../../../pipelines/catalog/products/topology.ts'
import { skus } from '../../../../pipelines/catalog/skus/topology.ts'
import { decisionDriver } from '../../../../pipelines/engine/testing.ts'
import { productFlow } from '../../../../schemas/catalog/products/flow.ts'
import { skuFlow } from '../../../../schemas/catalog/skus/flow.ts'
import { skuUses } from '../../../../schemas/catalog/skus/topics.ts'
import type { SkuUse } from '../../../../schemas/catalog/types.ts'
import { integer, pick, type Random, seededRandom } from '../../../../tools/random/random.ts'
import { content, newStatus, offer } from '../../../pipelines/catalog/requests.ts'

/**
 * This file simulates requests through several API processes. The steps of the requests happen in any order, with
 * pauses of minutes, lost responses, and later repetitions. At no time may two products use the same sku.
 */
const SKUS = ['a', 'b', 'c', 'd', 'e']
const PARTITIONS = 2
const STEPS = 150
const SEEDS = 20
const MINUTE_MS = 60_000
const LONGEST_PAUSE_MINUTES = 7

/** A step of a request. It waits until the test selects it. */
interface Waiting {
  decide(): unknown
  resolve(answer: unknown): void
  reject(error: Error): void
}

function world(random: Random) {
  const partitions = Object.fromEntries([skuFlow.commands, skuFlow.decisions, skuUses].map(({ name }) => [name, PARTITIONS]))
  const ofProducts = decisionDriver(products, productFlow)
  const ofSkus = decisionDriver(skus, skuFlow, { partitions })
  const writer = productWriter(skuClaims({ partitionOf: (_topic, key) => partitionFor(Buffer.from(String(key)), PARTITIONS) }))
  const waiting: Waiting[] = []
  const failed: (() => void)[] = []
  const seen = new Set<string>()
  let unread: { readonly sku: string; readonly use: SkuUse }[] = []
  let requests = 0

  const open = (id: string): OpenCommand => ({
    id,
    once: () => Promise.reject(new Error('unexpected: a sku request called `once`')),
    run: (flow, key, body, step) =>
      new Promise<never>((resolve, reject) => {
        const driver = (flow.name === productFlow.name ? ofProducts : ofSkus) as typeof ofProducts
        const decide = () => driver.ask(key, body as never, { id: `${id}:${step}` })
        waiting.push({ decide, resolve: resolve as (answer: unknown) => void, reject })
      }),
  })

  /** Sends a request. If a command or its answer is lost, the request is retried later. */
  function request(work: (command: OpenCommand) => Promise<unknown>, id = `request-${requests++}`): void {
    work(open(id)).catch((error: Error) => {
      if (error.message === 'lost') failed.push(() => request(work, id))
    })
  }

  function someContent() {
    const chosen = SKUS.filter(() => random() < 0.4)
    return content((chosen.length === 0 ? [pick(random, SKUS)] : chosen).map((sku) => offer(sku)))
  }

  function live(): { readonly id: number; readonly version: number; readonly skus: readonly string[] }[] {
    return [...seen].flatMap((key) => {
      const product = ofProducts.view(key)?.product
      return product === undefined
        ? []
        : [{ id: product.product_id, version: product.version, skus: product.variants.map(({ sku }) => sku) }]
    })
  }

  function takeUses(): void {
    for (const { key, value } of ofProducts.driver.read(skuUses)) {
      unread.push({ sku: key as string, use: value! })
      seen.add(String(value!.product_id))
    }
  }

  const written = () => ({ actor: '7', seller_id: 7n, content: someContent(), status: null, mayForce: true })

  return {
    waiting,
    failed,
    live,
    create() {
      const asked = written()
      request((command) => writer.create(command, asked))
    },
    replace() {
      const products = live()
      if (products.length === 0) return
      const { id, version, skus: known } = pick(random, products)
      // The API's view may lag behind the decisions of the topology, so the known version and skus may be outdated.
      const asked = { ...written(), expectedVersion: random() < 0.6 ? version : undefined, known: random() < 0.7 ? known : [] }
      request((command) => writer.replace(command, id, asked))
    },
    remove() {
      const products = live()
      if (products.length > 0) ofProducts.ask(String(pick(random, products).id), newStatus('DELETED'))
    },
    /** Decides a random waiting step. The command or its answer may get lost. */
    async step() {
      if (waiting.length === 0) return
      const [one] = waiting.splice(integer(random, waiting.length), 1)
      const luck = random()
      const answer = luck < 0.1 ? undefined : one.decide()
      if (luck < 0.2) one.reject(new Error('lost'))
      else one.resolve(answer)
      await nextTurn()
    },
    takeUses,
    /**
     * Makes the sku topology read all uses so far, and then advances the clock. In the service, the topology's
     * `caught-up` clock ensures this before a tick.
     */
    pass(ms: number) {
      takeUses()
      for (const { sku, use } of unread) ofSkus.driver.pipe(skuUses, sku, use)
      unread = []
      ofProducts.driver.advanceWallClock(ms)
      ofSkus.driver.advanceWallClock(ms)
    },
    conflicts: () => ofSkus.driver.metrics.dropped.get('sku_of_another_product') ?? 0,
  }
}

type World = ReturnType<typeof world>

function checkOwners({ live, conflicts }: World): void {
  const used = live().flatMap((product) => product.skus)
  expect(used.length).toBe(new Set(used).size)
  expect(conflicts()).toBe(0)
}

test.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
  'no two products use the same sku, even if requests are delayed, lost or repeated (seed %d)',
  async (seed) => {
    const random = seededRandom(seed)
    const all = world(random)
    for (let i = 0; i < STEPS; i++) {
      const luck = random()
      if (luck < 0.12) all.create()
      else if (luck < 0.28) all.replace()
      else if (luck < 0.3) all.remove()
      else if (luck < 0.33) all.failed.splice(0, 1)[0]?.()
      else if (luck < 0.4) all.pass(integer(random, LONGEST_PAUSE_MINUTES * MINUTE_MS))
      else await all.step()
      all.takeUses()
      checkOwners(all)
    }
    // Completes all requests, and retries those that failed. After that, unused claims expire.
    while (all.waiting.length + all.failed.length > 0) {
      all.failed.splice(0, 1)[0]?.()
      await all.step()
      all.takeUses()
      checkOwners(all)
    }
    all.pass(0)
    all.pass(15 * MINUTE_MS)
    checkOwners(all)
  },
)

test('the simulation creates products, although responses are lost and skus are taken', async () => {
  let live = 0
  for (let seed = 0; seed < 5; seed++) {
    const random = seededRandom(seed)
    const all = world(random)
    for (let i = 0; i < STEPS; i++) {
      if (random() < 0.2) all.create()
      else await all.step()
      all.takeUses()
    }
    live += all.live().length
  }
  expect(live).toBeGreaterThan(5)
})
