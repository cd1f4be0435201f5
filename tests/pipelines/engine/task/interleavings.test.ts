import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DriverCrash, type TestDriver, testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import type { CommitFaultPoint } from '../../../../pipelines/engine/worker/commit.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { numberFormat, numberTopic } from '../words.ts'

const SHOPS = Array.from({ length: 12 }, (_, i) => `shop-${i}`)
const sales = numberTopic('sales', 2)
const returns = numberTopic('returns', 2)
const balances = numberTopic('balances', 2)
const grand = numberTopic('grand', 1)

/**
 * Joins two sources into a balance per shop, and deletes shops with a balance of 0. Aggregates changes until the
 * commit, emits them, and sums them over all shops.
 */
const ledger = topology('ledger', (t) => {
  const changes = t.repartition('changes', { key: utf8, value: numberFormat, partitions: 1 })
  const shops = keyedStore('shops', { key: utf8, value: numberFormat })
  let pending = 0

  function change(shop: string, by: number): number {
    const balance = (shops.get(shop) ?? 0) + by
    if (balance === 0) shops.delete(shop)
    else shops.put(shop, balance)
    pending += by
    return balance
  }

  const reads = (_: number, shop: string) => shops.prefetch(shop)
  t.source(sales)
    .process('sale', { reads, stores: [shops], emits: [balances] }, (amount, ctx) => ctx.emit(balances, ctx.key, change(ctx.key, amount)))
    .beforeCommit('send', { emits: [changes] }, (ctx) => {
      if (pending !== 0) ctx.emit(changes, 'all', pending)
      pending = 0
    })
  t.source(returns).process('return', { reads, stores: [shops], emits: [balances] }, (amount, ctx) =>
    ctx.emit(balances, ctx.key, change(ctx.key, -amount)),
  )
  const total = keyedStore('total', { key: utf8, value: numberFormat })
  t.source(changes).process('sum', { stores: [total], emits: [grand] }, (by, ctx) => {
    const sum = (total.get('all') ?? 0) + by
    total.put('all', sum)
    ctx.emit(grand, 'all', sum)
  })
})

type Step =
  | { readonly kind: 'sale' | 'return'; readonly shop: string; readonly amount: number }
  | { readonly kind: 'run' | 'commit' | 'settle' | 'restart' | 'wipe' | 'compact' }
  | { readonly kind: 'crash'; readonly at: CommitFaultPoint }

const amount = fc.integer({ min: 1, max: 5 })
const shop = fc.constantFrom(...SHOPS)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('sale', 'return'), shop, amount }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('run', 'commit', 'commit', 'settle', 'settle', 'restart', 'wipe', 'compact') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      at: fc.constantFrom<CommitFaultPoint>('encoded', 'produced', 'offsets-added', 'committed', 'written'),
    }),
  },
)

function survive(driver: TestDriver, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof DriverCrash)) throw error
    driver.restart()
  }
}

function compact(driver: TestDriver): void {
  for (const topic of ['ledger-shops-changelog', 'ledger-total-changelog'])
    for (let i = 0; i < (driver.broker.partitionCount(topic) ?? 0); i++) driver.broker.log(topic, i).compact()
}

function apply(driver: TestDriver, step: Step): void {
  if (step.kind === 'sale') driver.pipe(sales, step.shop, step.amount)
  else if (step.kind === 'return') driver.pipe(returns, step.shop, step.amount)
  else if (step.kind === 'run') driver.run()
  else if (step.kind === 'commit') survive(driver, driver.commit)
  else if (step.kind === 'settle') survive(driver, driver.settle)
  else if (step.kind === 'crash') driver.crashAt(step.at)
  else if (step.kind === 'compact') compact(driver)
  else driver.restart({ wipeState: step.kind === 'wipe' })
}

test('for any order of input, work, commits, crashes and lost folders, no output is missing or duplicated, and the last outputs equal an offline computation', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.constantFrom(1, 250_000), fc.boolean(), (steps, cacheBytes, wipeState) => {
      const driver = testDriver(ledger, { commit: 'manual', cacheBytes })
      const expected = new Map(SHOPS.map((name) => [name, { total: 0, changes: 0 }]))
      for (const each of steps) {
        apply(driver, each)
        if (each.kind !== 'sale' && each.kind !== 'return') continue
        const known = expected.get(each.shop)!
        known.total += each.kind === 'sale' ? each.amount : -each.amount
        known.changes++
      }
      survive(driver, driver.settle)
      driver.settle()

      const out = driver.read(balances)
      for (const [name, { total, changes }] of expected) {
        const seen = out.filter(({ key }) => key === name)
        expect(seen).toHaveLength(changes)
        if (changes > 0) expect(seen.at(-1)?.value).toBe(total)
      }
      const all = [...expected.values()].reduce((sum, { total }) => sum + total, 0)
      const last = driver.read(grand).at(-1)
      expect(last?.value ?? 0).toBe(all)

      driver.restart({ wipeState })
      for (const name of SHOPS) driver.pipe(sales, name, 100)
      driver.settle()
      const after = new Map(driver.read(balances).map(({ key, value }) => [key, value]))
      for (const [name, { total }] of expected) expect(after.get(name)).toBe(total + 100)
    }),
    { numRuns: 150 },
  )
})
