import { expect, test } from 'vitest'
import { handleRequest } from './cluster/requests.ts'
import { append, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

const PARTITION = { topic: TOPIC, partition: 0 }
const FETCH = 1
const RECORDS = 20
const POLL_MS = 1_000
/** Time for which records may collect. It is much longer than the time that writing all records takes. */
const LONG_MS = 10_000

/** Writes records one at a time, and returns how many fetches were needed to read them all. */
async function fetchesOf(collectMs: number | (() => number)): Promise<number> {
  let fetches = 0
  const { cluster, run } = producerWorld(2, (request, broker, cluster) => {
    if (request.apiKey === FETCH) fetches++
    handleRequest(request, broker, cluster)
  })
  await run(async (producer, transport) => {
    const fetcher = transport.fetcher({ collectMs })
    fetcher.assign(PARTITION, 0, 'earliest')
    let read = 0
    const readSome = async (ms: number) => {
      for (const { chunks } of await fetcher.poll(ms)) for (const { count } of chunks) read += count
    }
    for (let index = 0; index < RECORDS; index++) {
      append(producer, String(index))
      await producer.commit(new Map(), undefined)
      await readSome(0)
    }
    while (read < RECORDS) await readSome(POLL_MS)
    await fetcher.close()
  })
  expect(valuesIn(cluster)).toHaveLength(RECORDS)
  return fetches
}

test('records collect at the broker for as long as the reader requests', async () => {
  expect(await fetchesOf(0)).toBeGreaterThan(RECORDS / 2)
  expect(await fetchesOf(LONG_MS)).toBeLessThanOrEqual(4)
  expect(await fetchesOf(() => LONG_MS)).toBeLessThanOrEqual(4)
})

test('after each response, the reader can choose to fetch without letting records collect at the broker', async () => {
  const withoutCollecting = await fetchesOf(0)
  let responses = 0
  expect(await fetchesOf(() => (responses++ === 0 ? 1 : 0))).toBeGreaterThan(withoutCollecting / 2)
  expect(responses).toBeGreaterThan(RECORDS / 2)
})
