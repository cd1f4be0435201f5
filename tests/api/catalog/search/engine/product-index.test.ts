import { expect, it } from 'vitest'
import { productIndex, searchProbe } from '../../../../../api/catalog/search/engine/product-index.ts'
import { salesPercentile } from '../../../../../api/catalog/search/engine/sales-percentile.ts'
import { NOT_COMPLETE } from '../../../../../state/indexes/reader.ts'
import { TargetUnavailableError } from '../../../../../state/unavailable.ts'

const code = (expected: string) => expect.objectContaining({ definition: expect.objectContaining({ code: expected }) })

/** Returns an index on a server that gives every search the same response. */
const answering = (answer: () => Promise<never> | typeof NOT_COMPLETE) =>
  productIndex({ search: async () => answer(), searchAll: async () => answer() })

it('an unavailable search server leads to 503 unavailable', async () => {
  const index = answering(() => Promise.reject(new TargetUnavailableError('refused')))
  await expect(index.search({})).rejects.toEqual(code('unavailable'))
  await expect(index.searchAll([{}])).rejects.toEqual(code('unavailable'))
})

it('an index that is not complete leads to 503 not_ready', async () => {
  const index = answering(() => NOT_COMPLETE)
  await expect(index.search({})).rejects.toEqual(code('not_ready'))
  await expect(index.searchAll([{}])).rejects.toEqual(code('not_ready'))
})

it('the probe names the reason why searches fail, and does not make the process unready', async () => {
  const down = searchProbe(answering(() => Promise.reject(new TargetUnavailableError('connect ECONNREFUSED 127.0.0.1:9200'))))
  expect([down.name, down.optional, await down.check()]).toEqual(['search', true, 'connect ECONNREFUSED 127.0.0.1:9200'])
  expect(await searchProbe(answering(() => NOT_COMPLETE)).check()).toContain('is being built')
  expect(await searchProbe({ search: async () => ({}) }).check()).toBeUndefined()
})

it('if the server refuses a search, the error is thrown unchanged, because the cause is a bug', async () => {
  const bug = new Error('searching: the search server answered 400')
  const index = answering(() => Promise.reject(bug))
  await expect(index.search({})).rejects.toBe(bug)
  await expect(index.searchAll([{}])).rejects.toBe(bug)
})

it('the sales percentile is renewed after ten minutes, and the old one applies until the new one is known, even if an attempt fails', async () => {
  let [now, asked] = [0, 0]
  const answers = [1, 2, 3].map((value) => ({ aggregations: { sales: { values: [{ value }] } } }))
  const failing = new Set([1])
  const percentile = salesPercentile(
    {
      async search() {
        const at = asked++
        if (failing.has(at)) throw new Error('unavailable')
        return answers[at]
      },
    },
    () => now,
  )
  expect(await percentile()).toBe(1)
  expect(await percentile()).toBe(1)
  now = 600_000
  expect(await percentile()).toBe(1)
  await expect.poll(() => percentile()).toBe(3)
  expect(asked).toBe(3)
})
