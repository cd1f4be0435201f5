import { expect, test } from 'vitest'
import { skus } from '../../../pipelines/catalog/skus/topology.ts'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { skuFlow } from '../../../schemas/catalog/skus/flow.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type { SkuCommand } from '../../../schemas/catalog/types.ts'
import { MINUTE_MS } from './requests.ts'

function opened() {
  const { ask, driver } = decisionDriver(skus, skuFlow)
  const send =
    (action: SkuCommand['action']) =>
    (product_id: number, asked: string[], claim_id = `of-${product_id}`) =>
      ask(asked[0], { action, product_id, claim_id, skus: asked })
  const use = (sku: string, product_id: number, is_used = true) => driver.pipe(skuUses, sku, { product_id, is_used })
  return { claim: send('claim'), release: send('release'), use, driver }
}

test('a request claims all of its skus or none', () => {
  const { claim, driver } = opened()
  expect(claim(1, ['b', 'c'])).toEqual({ outcome: 'claimed', claimed_at: driver.now })
  expect(claim(2, ['a', 'b'])).toEqual({ outcome: 'taken', sku: 'b' })
  expect(claim(3, ['a', 'A'])).toMatchObject({ outcome: 'claimed' })
})

test('an unused claim ends after ten minutes, and a used claim never ends', () => {
  const { claim, use, driver } = opened()
  claim(1, ['a', 'b'])
  use('a', 1)
  driver.advanceWallClock(10 * MINUTE_MS - 1_000)
  expect(claim(2, ['b'])).toMatchObject({ outcome: 'taken' })
  driver.advanceWallClock(3_000)
  expect(claim(2, ['b'])).toMatchObject({ outcome: 'claimed' })
  driver.advanceWallClock(60 * MINUTE_MS)
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
})

test('a use that was recorded before the claim ended counts, even if the topology was stopped and processes the use after the end', () => {
  const { claim, use, driver } = opened()
  claim(1, ['a'])
  driver.crashAt('encoded')
  expect(() => use('a', 1)).toThrow('crash')
  driver.restart({ downMs: 20 * MINUTE_MS })
  driver.advanceWallClock(MINUTE_MS)
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
})

test('after their release, the skus of a refused request can be claimed again', () => {
  const { claim, release } = opened()
  claim(1, ['a', 'b'])
  expect(release(1, ['a', 'b'])).toEqual({ outcome: 'released' })
  expect(claim(2, ['a', 'b'])).toMatchObject({ outcome: 'claimed' })
})

test('a request releases only skus that it has claimed and that no product uses', () => {
  const { claim, release, use } = opened()
  claim(1, ['a', 'b'], 'first')
  use('a', 1)
  release(2, ['b'], 'first')
  release(1, ['a', 'b'], 'another')
  expect(claim(2, ['b'])).toMatchObject({ outcome: 'taken' })
  release(1, ['a', 'b'], 'first')
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
  expect(claim(2, ['b'])).toMatchObject({ outcome: 'claimed' })
})

test('two requests for the same product can claim the same sku, and neither request releases a sku that the other request needs', () => {
  for (const refused of ['first', 'second']) {
    const { claim, release, driver } = opened()
    claim(1, ['a'], 'first')
    expect(claim(1, ['a'], 'second')).toMatchObject({ outcome: 'claimed' })
    release(1, ['a'], refused)
    expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
    driver.advanceWallClock(11 * MINUTE_MS)
    expect(claim(2, ['a'])).toMatchObject({ outcome: 'claimed' })
  }
})

test('a renewed claim lasts ten minutes from its renewal', () => {
  const { claim, driver } = opened()
  claim(1, ['a'])
  driver.advanceWallClock(6 * MINUTE_MS)
  expect(claim(1, ['a'])).toMatchObject({ outcome: 'claimed', claimed_at: driver.now })
  driver.advanceWallClock(6 * MINUTE_MS)
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
})

test('a sku that a product no longer uses becomes free, and a repeated report from that product does not free it again', () => {
  const { claim, use } = opened()
  claim(1, ['a'])
  use('a', 1)
  use('a', 1, false)
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'claimed' })
  use('a', 1, false)
  expect(claim(3, ['a'])).toMatchObject({ outcome: 'taken' })
})

test('a use by a product that does not own the sku counts as dropped and changes nothing', () => {
  const { claim, use, driver } = opened()
  claim(1, ['a'])
  use('a', 1)
  use('a', 2)
  expect(claim(2, ['a'])).toMatchObject({ outcome: 'taken' })
  expect(driver.metrics.dropped.get('sku_of_another_product')).toBe(1)
})
