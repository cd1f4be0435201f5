import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { TransportError } from '../../../../kafka/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { decimalId, utf8 } from '../../../../schemas/keys.ts'
import { StateCorrupted } from '../../../../state/stores/errors.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../../state/stores/store.ts'
import { timerStore } from '../../../../state/stores/timer-store.ts'
import { windowedCounterStore } from '../../../../state/stores/windowed-counter-store.ts'
import { bench, until } from '../harness.ts'
import { lines, numberFormat, numberTopic, wordCount, wordCounts } from '../words.ts'
import { hosted } from './hosted.ts'

/** Declares the store of `wordCount` a second time, because `wordCount` does not export its declaration. */
const totals = keyedStore('totals', { key: utf8, value: numberFormat })

test('a query for a key returns the committed value, its position and the time up to which it is current', async () => {
  const at = bench()
  const one = await hosted(at)
  at.send(lines, 'ann', 'to be or not to be')
  await one.ready()
  await until(() => at.latest(wordCounts).get('be') === 2, 'counted')
  // Polls, because a reader of the output topic may be slightly ahead of the state.
  await until(async () => (await one.get('/state/words/totals?key=be')).body.value === 2, 'the state is written')
  const { status, body } = await one.get('/state/words/totals?key=be')
  expect(status).toBe(200)
  expect(body).toMatchObject({ topology: 'words', store: 'totals', key: 'be', value: 2, role: 'active', records_behind: 0 })
  expect(body.position.sources).toEqual([{ topic: 'words-by-word-repartition', offset: expect.any(Number) }])
  expect(body.position.changelog).toBeGreaterThan(0)
  expect(Date.parse(body.as_of)).toBeGreaterThan(0)
  expect((await one.get('/state')).body).toEqual({ words: { stores: [{ name: 'totals', partitions: 3 }] } })
  expect((await one.get('/state/words/totals?key_hex=6265')).body).toMatchObject({ key_hex: '6265', value: 2 })
})

test('a query for a key can be sent to either of two workers, because a worker that does not own the key redirects the query to the owner', async () => {
  const at = bench()
  const workers = [await hosted(at), await hosted(at)]
  const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  at.send(lines, 'ann', words.join(' '))
  await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
  for (const worker of workers) await worker.ready()
  await until(() => at.latest(wordCounts).size === words.length, 'all words are counted')
  let redirected = 0
  for (const word of words) {
    for (const worker of workers) {
      let answer = await worker.get(`/state/words/totals?key=${word}`)
      let owner = worker
      if (answer.status === 307) {
        redirected++
        owner = workers.find(({ base }) => answer.location?.startsWith(base))!
        expect(answer.body).toMatchObject({ error: 'elsewhere', worker: owner.base })
      }
      // Polls, because a reader of the output topic may be slightly ahead of the state.
      await until(async () => {
        answer = await owner.get(`/state/words/totals?key=${word}`)
        return answer.status !== 404
      }, 'the state is written')
      expect([answer.status, answer.body.value]).toEqual([200, 1])
    }
  }
  expect(redirected).toBe(words.length)
})

/** Creates a topology that counts the lines of each author. */
function counting() {
  return topology('counting', (t) => {
    const store = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(lines).process('count', { stores: [store] }, (_, ctx) => {
      const total = (store.get(ctx.key) ?? 0) + 1
      store.put(ctx.key, total)
    })
  })
}

test('uncommitted changes are never visible, and state and position belong to the same commit', async () => {
  const { worker, send } = bench()
  const running = await worker(counting())
  await until(() => running.status().ready, 'the worker runs')
  let sent = 0
  let seen = 0
  await until(async () => {
    for (let i = 0; i < 20; i++) send(lines, 'ann', `${sent++}`)
    const answer = await running.queries?.get(totals, 'ann')
    if (answer?.outcome !== 'answered') throw new Error(`the outcome of the query was ${answer?.outcome}`)
    const offset = answer.state.position.sources[0]?.offset ?? 0
    // The total must equal the position in the source, because every input record increments the total and the log has
    // no control records.
    expect(answer.value ?? 0).toBe(offset)
    seen = answer.value ?? 0
    return seen > 500
  }, 'queries during processing')
})

test('a worker that takes over a partition without new records reports that its state is up to date', async () => {
  const { worker, send } = bench()
  const first = await worker(counting())
  for (let i = 0; i < 3; i++) send(lines, 'ann', `${i}`)
  await until(async () => {
    const answer = await first.queries?.get(totals, 'ann')
    return answer?.outcome === 'answered' && answer.value === 3
  }, 'counted')
  await first.stop()
  const second = await worker(counting())
  await until(() => second.status().ready && second.status().tasks.every((task) => task.fetchedAt !== undefined), 'the end is known')
  const answer = await second.queries?.get(totals, 'ann')
  expect(answer).toMatchObject({ outcome: 'answered', value: 3, state: { behind: 0, position: { sources: [{ offset: 3 }] } } })
})

test('a worker that gets no more data reports the time up to which its data was complete', async () => {
  const { broker, worker, send } = bench()
  const transport = memoryTransport(broker)
  let stands = false
  let silentPolls = 0
  const running = await worker(wordCount(), {
    transport: {
      ...transport,
      fetcher(options) {
        const fetcher = transport.fetcher(options)
        return {
          ...fetcher,
          async poll(timeoutMs) {
            if (!stands) return fetcher.poll(timeoutMs)
            silentPolls++
            await delay(1)
            return []
          },
        }
      },
    },
  })
  async function state() {
    const answer = await running.queries?.get(totals, 'be')
    return answer?.outcome === 'answered' ? answer.state : undefined
  }
  const startedAt = Date.now()
  send(lines, 'ann', 'to be or not to be')
  await until(async () => ((await state())?.position.sources[0]?.offset ?? 0) > 0, 'counted')
  await until(async () => ((await state())?.asOf ?? 0) >= startedAt && (await state())?.behind === 0, 'the whole input is known')
  stands = true
  await until(() => silentPolls > 0, 'earlier fetches are processed')
  const standing = await state()
  const stoodAt = Date.now()
  send(lines, 'ann', 'be')
  await until(() => Date.now() > stoodAt + 20, 'time passes')
  expect(await state()).toMatchObject({ behind: 0, asOf: standing?.asOf })
  stands = false
  await until(async () => ((await state())?.asOf ?? 0) > stoodAt, 'data arrives again')
})

test('queries from code return typed values of timers and windowed counters, even for numeric keys, and can name a partition', async () => {
  const { worker, send } = bench()
  const orders = numberTopic('orders', 3)
  const hour = 3_600_000
  const byUser = windowedCounterStore('by-user', { key: decimalId, bucketMs: hour, buckets: 3 })
  const due = timerStore('due', { key: utf8 })
  const tested = topology('orders-seen', (t) => {
    const counts = windowedCounterStore('by-user', { key: decimalId, bucketMs: hour, buckets: 3 })
    const timers = timerStore('due', { key: utf8 })
    t.source(orders).process('count', { stores: [counts, timers] }, (amount, ctx) => {
      counts.add(BigInt(amount), ctx.timestamp)
      timers.schedule(ctx.key, ctx.timestamp + hour)
    })
  })
  const running = await worker(tested)
  send(orders, 'k', 42, hour)
  send(orders, 'k', 42, 2 * hour)
  await until(async () => {
    const answer = await running.queries?.get(due, 'k')
    return answer?.outcome === 'answered' && answer.value === 3 * hour
  }, 'the timer')
  const partitions = [0, 1, 2].map(async (partition) => {
    const answer = await running.queries!.get(byUser, 42n, { partition })
    return answer.outcome === 'answered' ? answer.value : answer.outcome
  })
  const found = (await Promise.all(partitions)).filter((value) => value !== undefined)
  expect(found).toEqual([
    [
      [hour, 1],
      [2 * hour, 1],
    ],
  ])
  await expect(running.queries!.get(byUser, 42n, { partition: 3 })).rejects.toMatchObject({ code: 'invalid_partition' })
  await expect(running.queries!.get(totals, 'k')).rejects.toMatchObject({ code: 'unknown_store' })
})

test('invalid queries are refused with the reason', async () => {
  const at = bench()
  const { get, ready } = await hosted(at)
  await ready()
  const answers = {
    '/state/words/totals?key=unseen': [404, 'key_not_found'],
    '/state/words/totals?keys=a': [400, 'unknown_parameter'],
    '/state/words/totals?key=a&limit=3': [400, 'unknown_parameter'],
    '/state/words/totals?key=a&key_hex=61': [400, 'invalid_key'],
    '/state/words/totals?key_hex=6': [400, 'invalid_key'],
    '/state/words/totals?key_hex=ff': [400, 'invalid_key'],
    [`/state/words/totals?key=${'k'.repeat(1_025)}`]: [400, 'invalid_key'],
    '/state/words/totals?key=a&partition=3': [400, 'invalid_partition'],
    '/state/words/totals?key=a&partition=-1': [400, 'invalid_partition'],
    '/state/words/totals?partition=3': [400, 'invalid_partition'],
    '/state/words/totals?cursor=3.': [400, 'invalid_partition'],
    '/state/words/totals?limit=0': [400, 'invalid_range'],
    '/state/words/totals?limit=1001': [400, 'invalid_range'],
    '/state/words/totals?limit=ten': [400, 'invalid_range'],
    '/state/words/totals?cursor=0.6': [400, 'invalid_range'],
    '/state/words/totals?cursor=1.61&partition=0': [400, 'invalid_range'],
    '/state/words/totals?from=a&from_hex=61': [400, 'invalid_key'],
    '/state/words/totals?to_hex=xx': [400, 'invalid_key'],
    [`/state/words/totals?prefix=${'k'.repeat(1_025)}`]: [400, 'invalid_key'],
    '/state/words/other': [404, 'unknown_store'],
    '/state/words/other?key=a': [404, 'unknown_store'],
    '/state/words/%E0%A4%A?key=a': [404, 'unknown_store'],
    '/state/other/totals?key=a': [404, 'unknown_topology'],
    '/state/words/totals/more?key=a': [404, 'not_found'],
  }
  for (const [path, expected] of Object.entries(answers)) {
    const { status, body } = await get(path)
    expect([path, status, body.error]).toEqual([path, ...expected])
  }
})

test('a refused parameter is named, and a parameter that only range queries accept is reported as not allowed with a key', async () => {
  const at = bench()
  const { get, ready } = await hosted(at)
  await ready()
  const messageOf = async (query: string) => (await get(`/state/words/totals?${query}`)).body.message
  expect(await messageOf('keys=a')).toMatch(/^the parameter "keys" is unknown; the parameters are: key, key_hex, from, /)
  expect(await messageOf('key=a&keys=a')).toMatch(/^the parameter "keys" is unknown; with a key, the parameters are: key, key_hex, part/)
  expect(await messageOf('key=a&limit=3')).toMatch(/^the parameter limit is not allowed with a key; with a key, the parameters are: key/)
})

test('a query for a partition whose owner has no address gets the answer not_ready', async () => {
  const at = bench()
  const one = await hosted(at)
  await one.ready()
  // This member gets the first partitions, because its id sorts before all others, but it never starts to process them.
  at.broker.groups.join('words', '! silent', ['lines', 'words-by-word-repartition'])
  const answer = () => one.get('/state/words/totals?key=a&partition=0')
  await until(async () => (await answer()).status === 503, "the key's partition is assigned to another worker")
  expect((await answer()).body.error).toBe('not_ready')
})

test('if a token is set, queries require it; without a token, a worker that listens on all addresses refuses queries', async () => {
  const at = bench()
  const token = 'a token of some length'
  const guarded = await hosted(at, { queryToken: token })
  const path = '/state/words/totals?key=a'
  expect((await guarded.get(path)).body.error).toBe('unauthorized')
  expect((await guarded.get(path, { authorization: 'Bearer wrong' })).status).toBe(401)
  await guarded.ready()
  expect((await guarded.get(path, { authorization: `Bearer ${token}` })).body.error).toBe('key_not_found')
  const exposed = await hosted(at, { healthHost: '0.0.0.0' })
  expect(await exposed.get(path)).toMatchObject({ status: 403, body: { error: 'queries_off' } })
})

test('while the brokers do not report the owner of a partition, a query for the partition gets the answer not_ready', async () => {
  const at = bench()
  const one = await hosted(at)
  await one.ready()
  at.broker.groups.peers = () => {
    throw new TransportError('DISCONNECTED', 'no broker answers', { fatal: false })
  }
  at.broker.groups.join('words', '! silent', ['lines', 'words-by-word-repartition'])
  const asked = () => one.get('/state/words/totals?key=a&partition=0')
  await expect.poll(async () => (await asked()).body.error).not.toBe('key_not_found')
  await expect.poll(asked).toMatchObject({ status: 503, body: { error: 'not_ready', message: expect.stringContaining('brokers') } })
})

test('corruption that only a query finds stops the worker with a StateCorrupted error', async () => {
  const at = bench()
  const backend = memoryBackend()
  let isDamaged = false
  const damaged: StateBackend = {
    ...backend,
    session(name) {
      const session = backend.session(name)
      function column(store: string, partition: number) {
        const found = session.column(store, partition)
        const multiGet: typeof found.multiGet = (...keys) => {
          if (isDamaged) throw new StateCorrupted('corruption found while reading store totals')
          return found.multiGet(...keys)
        }
        return { ...found, multiGet }
      }
      return { ...session, column }
    },
  }
  const one = await hosted(at, {}, wordCount(), damaged)
  const failed = expect(one.done).rejects.toThrow(StateCorrupted)
  at.send(lines, 'ann', 'be')
  await one.ready()
  await until(async () => (await one.get('/state/words/totals?key=be')).status === 200, 'the state is written')
  isDamaged = true
  expect(await one.get('/state/words/totals?key=be')).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  await failed
})
