/**
 * # 13. Queries
 *
 * The state of a topology is a database that is always up to date: often the result can be read there, with no output topic and no sink. This
 * chapter asks a running topology for keys: from your code, and over HTTP, whichever worker has them.
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

/* What a store is can be said once, for the topology and for those who read it. */
const totalsStore = () => keyedStore('totals', { key: utf8, value: avroValue<number>('int') })

const stationTotals = topology('station-totals', (t) => {
  const totals = totalsStore()
  t.source(returns).process('count', { reads: (_bike, station) => totals.prefetch(station), stores: [totals] }, (_bike, ctx) => {
    totals.put(ctx.key, (totals.get(ctx.key) ?? 0) + 1)
  })
})

/* Two worker processes on one broker, here in memory; `pipelines/main.ts` does the same in production. */
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
 * ## From your code
 *
 * `worker.queries.get(store, key)`: the key is typed, and so is the value. An answer has one of three outcomes:
 *
 * - `answered`: the value (undefined: no such key), and the state it was read from
 * - `other-worker`: another worker has the partition; its address
 * - `not-ready`: the partition is being moved or restored. Ask again
 *
 * Only committed state is seen: never the middle of a transaction, never something that is taken back. `state.position` says which offsets of the
 * input are in it, `behind` how many were not yet, as of the last look at the log. Queries do not disturb the processing.
 */
test('a typed answer, and the position of the state that it comes from', async () => {
  const { worker } = await startProcess()
  bikeReturned('harbour', 1)
  bikeReturned('harbour', 1)
  const ask = () => worker.queries?.get(totalsStore(), 'harbour', { partition: 1 })
  await eventually(ask).toMatchObject({ outcome: 'answered', value: 2 })
  const answer = await ask()
  if (answer?.outcome !== 'answered') throw new Error('it was answered a moment ago')
  const value: number | undefined = answer.value
  expect(value).toBe(2)
  expect(answer.state).toMatchObject({ role: 'active', partition: 1, behind: 0 })
  expect(answer.state.position.sources).toEqual([{ topic: 'returns', partition: 1, offset: 2 }])
})

/*
 * The partition is that of the key, as producers choose it (murmur2). Give `partition` where a store is kept under another key than its records,
 * or where, as here, the producer has its own way.
 *
 * ## Over HTTP
 *
 * Any worker may be asked: one that does not have the key answers 307 with the address of the one that has, and HTTP clients follow it by themselves:
 *
 *     curl -L 'localhost:9400/state/station-totals/totals?key=harbour'
 *
 * Workers learn of each other through their consumer group: there is nothing else to run. Each tells `HEALTH_ADDRESS`, by default its health
 * host and port.
 */
test('whichever worker is asked, the key is found', async () => {
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
 * Values are JSON: 64-bit integers as text, bytes as base64; a windowed counter shows its buckets, a timer its due time, a top-K store its list.
 * Keys that are no text are given as `key_hex=`. Other answers: 404 `key_not_found` (with the position, too), 503 `not_ready`, 400 for a wrong key.
 *
 * State may be private. Without `QUERY_TOKEN` only a loopback `HEALTH_HOST` answers; with it, ask with `Authorization: Bearer <token>`
 * (HTTP clients leave it out when they follow a redirect to another host: ask again at the address in `location`).
 *
 * For many readers and high rates write a view with a sink (chapter 11): a query is a read on a worker that has other work to do.
 *
 * Read next: chapter 14, standing by. Sources: `pipelines/engine/queries/queries.ts`, `pipelines/engine/queries/state-endpoint.ts`,
 * `docs/adr/0005-queries-by-the-group.md`.
 */
