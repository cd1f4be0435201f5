/**
 * # 13. Queries
 *
 * The state of a topology is a database that is always up to date. Often, clients can read results directly from it, so
 * you need no output topic and no sink. This chapter queries a running topology by key and by range, from code and over
 * HTTP. A client does not have to know which worker has the key.
 *
 * You need chapters 2 and 12.
 */

import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import {
  avroValue,
  createWorker,
  keyedStore,
  rawValue,
  startHost,
  systemRuntime,
  type Topic,
  topology,
  utf8,
  type Worker,
  workerRunner,
} from '../../pipelines/engine/index.ts'
import { memoryBackend, memoryBroker, memoryRegistry, memoryTransport } from '../../pipelines/engine/testing.ts'

/** Key: the station. Value: the bike that was returned. */
const returns: Topic<string, string> = { name: 'returns', key: utf8, value: rawValue(utf8), partitions: 4 }

/* Declares the store. The topology and the code that queries the store can share this declaration. */
const totalsStore = () => keyedStore('totals', { key: utf8, value: avroValue<number>('int') })

const stationTotals = topology('station-totals', (t) => {
  const totals = totalsStore()
  t.source(returns).process('count', { reads: (_bike, station) => totals.prefetch(station), stores: [totals] }, (_bike, ctx) => {
    totals.put(ctx.key, (totals.get(ctx.key) ?? 0) + 1)
  })
})

/*
 * The tests simulate worker processes on one in-memory broker. `pipelines/main.ts` starts a worker in a similar way in
 * production.
 */
const broker = memoryBroker()
const registry = memoryRegistry()
broker.createTopic({ name: 'returns', partitions: 4 })

async function startProcess(): Promise<{ worker: Worker; url: string }> {
  const backend = memoryBackend()
  let worker: Worker | undefined
  const host = await startHost(
    { healthPort: 0, healthHost: '127.0.0.1' },
    {
      backend,
      runtime: systemRuntime(),
      runners: (_metrics, address) => {
        const identity = { memberId: randomUUID(), transactionalId: randomUUID() }
        worker = createWorker(
          { topology: stationTotals },
          { transport: memoryTransport(broker), registry, backend, identity, runtime: systemRuntime(), address },
        )
        return [workerRunner(worker)]
      },
    },
  )
  onTestFinished(() => host.stop())
  return { worker: worker as Worker, url: `http://127.0.0.1:${host.healthPort}` }
}

function bikeReturned(station: string, partition: number): void {
  broker.append('returns', partition, { timestamp: 0, key: Buffer.from(station), value: Buffer.from('some bike'), headers: [] })
}

const DEADLINE_MS = 10_000
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

/*
 * ## From code
 *
 * `worker.queries.get(store, key)` looks up a key. The types of the key and the value come from the declaration of the
 * store. An answer has one of three outcomes:
 *
 * - `answered`: the value (undefined if there is no such key), and a description of the state from which it was read
 * - `other-worker`: the address of another worker that has the partition
 * - `not-ready`: the partition is being moved or restored, so ask again
 *
 * Queries return only committed state, never intermediate state of a transaction that may still be aborted.
 * `state.position` has the offsets up to which the state includes the input. `state.behind` is the number of offsets
 * between this position and the end of the input at the worker's last fetch. Queries do not interrupt processing.
 */
test('an answer has a typed value and the position of the state from which it was read', async () => {
  const { worker } = await startProcess()
  bikeReturned('harbour', 1)
  bikeReturned('harbour', 1)
  const ask = () => worker.queries?.get(totalsStore(), 'harbour', { partition: 1 })
  await eventually(ask).toMatchObject({ outcome: 'answered', value: 2 })
  const answer = await ask()
  if (answer?.outcome !== 'answered') throw new Error('the query succeeded a moment ago, but not now')
  const value: number | undefined = answer.value
  expect(value).toBe(2)
  expect(answer.state).toMatchObject({ role: 'active', partition: 1, behind: 0 })
  expect(answer.state.position.sources).toEqual([{ topic: 'returns', partition: 1, offset: 2 }])
})

/*
 * The worker derives the partition from the key in the same way as producers do (murmur2). Pass `partition` if the keys
 * of the store differ from the keys of the input records, or if the producer chooses partitions in a different way, as
 * in these tests.
 *
 * ## Over HTTP
 *
 * You can ask any worker. A worker that does not have the key responds with 307 and the address of the worker that has
 * it, and HTTP clients follow automatically:
 *
 *     curl -L 'localhost:9400/state/station-totals/totals?key=harbour'
 *
 * Workers learn each other's addresses through their consumer group, so no discovery service is necessary. Each worker
 * announces `HEALTH_ADDRESS`, by default the host and port of its health endpoint.
 */
test('a client can ask any worker for any key', async () => {
  const [one, two] = [await startProcess(), await startProcess()]
  for (const partition of [0, 1, 2, 3]) bikeReturned('museum', partition)
  for (const { url } of [one, two]) {
    for (const partition of [0, 1, 2, 3]) {
      const ask = async () => (await fetch(`${url}/state/station-totals/totals?key=museum&partition=${partition}`)).json()
      await eventually(ask).toMatchObject({ key: 'museum', value: 1, partition, role: 'active' })
    }
  }
})

/*
 * ## Ranges
 *
 * `worker.queries.scan(store, range)` returns a page of one partition's keys in the order of their encoded bytes.
 * `gte`, `lt` and `prefix` limit the range. A page has at most `limit` entries (100 by default, at most 1,000) and ends
 * early if its rows exceed 1 MiB. If there are more entries in the range, `next` is set; pass it as `after` to get the
 * next page. All entries of a page come from the same commit, but the next page may come from a later commit.
 *
 * Over HTTP, a request without a key asks for a range. Its parameters are `from`, `to` and `prefix` (or `from_hex`,
 * `to_hex` and `prefix_hex` for keys that are not text), `limit` and `reverse=1`. Follow `next` until it is null:
 *
 *     curl -L 'localhost:9400/state/station-totals/totals?prefix=pier&limit=50'
 *
 * After the last page of a partition, `next` leads to the first page of the next partition. A client that follows
 * `next` gets the keys of all workers, in order within each partition. The parameter `partition` limits the list to one
 * partition.
 */
test('a client lists all keys by following the pages', async () => {
  const { url } = await startProcess()
  for (const [index, station] of ['pier 1', 'pier 2', 'quay 1', 'pier 3'].entries()) bikeReturned(station, index)

  async function stations(path: string): Promise<string[]> {
    const found: string[] = []
    for (let next: string | null = path; next !== null; ) {
      const page = (await (await fetch(url + next)).json()) as { entries?: { key: string }[]; next?: string | null }
      found.push(...(page.entries ?? []).map(({ key }) => key))
      next = page.next ?? null
    }
    return found
  }
  await eventually(() => stations('/state/station-totals/totals?from=p&to=r&limit=1')).toEqual(['pier 1', 'pier 2', 'quay 1', 'pier 3'])
  expect(await stations('/state/station-totals/totals?prefix=pier')).toEqual(['pier 1', 'pier 2', 'pier 3'])
  expect(await stations('/state/station-totals/totals?prefix=pier&partition=1')).toEqual(['pier 2'])
})

/*
 * Values are JSON, with 64-bit integers as strings and bytes as base64. The value of a windowed counter is its buckets.
 * The value of a timer is its due time. In a top-K store, the value is the list of the group. Pass keys that are not
 * text as `key_hex=`. A request can also get 404 `key_not_found` (with the position of the state), 503 `not_ready`, or
 * 400 for an invalid key, range or parameter.
 *
 * State may be confidential, so without `QUERY_TOKEN`, a worker answers queries only if `HEALTH_HOST` is a loopback
 * address. If `QUERY_TOKEN` is set, send `Authorization: Bearer <token>`. HTTP clients drop this header when they
 * follow a redirect to another host, so repeat the request at the address in `location`.
 *
 * Each query takes CPU time from a worker that also processes records. For many readers or high rates of queries, write
 * a view with a sink (chapter 11) instead.
 *
 * Read next: chapter 14, standing by. Sources: `pipelines/engine/queries/queries.ts`,
 * `pipelines/engine/queries/state-endpoint.ts`, `docs/adr/0005-queries-by-the-group.md`.
 */
