import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../../kafka/memory/transport.ts'
import { type Transport, TransportError } from '../../../../../kafka/transport.ts'
import { replayDeadLetters } from '../../../../../pipelines/engine/dlq/replay.ts'
import { DELIVERED, type DeliveryOutcome } from '../../../../../pipelines/engine/sinks/deliveries/delivery.ts'
import { doneOffsets } from '../../../../../pipelines/engine/sinks/deliveries/offset-window.ts'
import { RETRY_STEPS } from '../../../../../pipelines/engine/sinks/deliveries/retry-schedule.ts'
import { seededRandom } from '../../../../../tools/random/random.ts'
import { headerOf, RETRIES, SINK, TOPIC, world } from './world.ts'

const LETTERS = `${SINK}-dead-letters`
const FAILED: DeliveryOutcome = { outcome: 'failed', code: 'http_500', message: 'the receiver answered with status 500' }
const MINUTE_MS = 60_000

test('every record is delivered once, the number of concurrent deliveries stays within the limit, and the position is committed', async () => {
  const { append, run, until, pass, calls, control, committed } = world({ concurrency: 4 })
  control.answer = async () => {
    await Promise.resolve()
    return DELIVERED
  }
  const values = Array.from({ length: 30 }, (_, index) => `letter ${index}`)
  for (const value of values) append(value)
  const sink = run()
  await until(() => calls.length === 30 && sink.isReady)
  await until(() => committed()?.offset === 30)
  await pass(5_000)
  expect(calls.map(({ value }) => value).sort()).toEqual([...values].sort())
  expect(control.mostRunning).toBe(4)
  expect(sink.deliveries).toMatchObject({ delivered: 30, running: 0 })
  expect(sink.metrics.applied).toBe(30)
  expect(sink.lanes().find(({ topic }) => topic === TOPIC)).toMatchObject({ state: 'running', position: 30, lag: 0 })
})

test('deliveries that hang do not delay other deliveries, and a restart after a crash repeats only the deliveries that hang', async () => {
  const { append, run, until, pass, calls, control, committed } = world()
  const values = Array.from({ length: 100 }, (_, index) => `letter ${index}`)
  const hangs = new Set(['letter 0', 'letter 7'])
  control.answer = (value) => (hangs.has(value) ? new Promise(() => {}) : DELIVERED)
  for (const value of values) append(value)
  const first = run()
  await until(() => first.deliveries?.delivered === 98)
  await pass(1_000)
  expect(committed()?.offset).toBe(0)
  first.crash()

  calls.length = 0
  control.answer = () => DELIVERED
  append('letter 100')
  run()
  await until(() => committed()?.offset === 101)
  expect(calls.map(({ value }) => value).sort()).toEqual(['letter 0', 'letter 100', 'letter 7'])
  expect(doneOffsets(0, committed()?.metadata ?? '')).toEqual(new Set())
})

test('after a second crash, the records that the first process had delivered are not delivered again', async () => {
  const { append, run, until, pass, calls, control, committed } = world()
  control.answer = (value) => (value === 'letter 0' ? new Promise(() => {}) : DELIVERED)
  for (let index = 0; index < 10; index++) append(`letter ${index}`)
  const first = run()
  await until(() => first.deliveries?.delivered === 9)
  await pass(1_000)
  first.crash()
  const second = run()
  await until(() => calls.filter(({ value }) => value === 'letter 0').length === 2)
  await pass(1_000)
  second.crash()
  calls.length = 0
  control.answer = () => DELIVERED
  run()
  await until(() => committed()?.offset === 10)
  expect(calls.map(({ value }) => value)).toEqual(['letter 0'])
})

test('even if a second process crashes before it has fetched any record, the deliveries of the first process are not repeated', async () => {
  const { append, run, until, pass, calls, control, committed, broker } = world()
  control.answer = (value) => (value === 'letter 0' ? new Promise(() => {}) : DELIVERED)
  for (let index = 0; index < 10; index++) append(`letter ${index}`)
  const first = run()
  await until(() => doneOffsets(0, committed()?.metadata ?? '').size === 9)
  first.crash()
  const inner = memoryTransport(broker)
  const withoutRecords: Transport = {
    ...inner,
    fetcher(options) {
      const fetcher = inner.fetcher(options)
      return { ...fetcher, poll: async (waitMs) => (await fetcher.poll(waitMs)).slice(0, 0) }
    },
  }
  const second = run(withoutRecords)
  await until(() => second.lanes().some(({ topic, state }) => topic === TOPIC && state === 'running'))
  await pass(1_000)
  second.crash()
  calls.length = 0
  control.answer = () => DELIVERED
  run()
  await until(() => committed()?.offset === 10)
  expect(calls.map(({ value }) => value)).toEqual(['letter 0'])
})

test('if a topic was created again with a shorter log, its records are delivered even at offsets that were done in the earlier log', async () => {
  const { append, run, until, calls, control, committed, broker } = world()
  control.answer = (value) => (value === 'letter 0' ? new Promise(() => {}) : DELIVERED)
  for (let index = 0; index < 4; index++) append(`letter ${index}`)
  const first = run()
  await until(() => doneOffsets(0, committed()?.metadata ?? '').size === 3)
  first.crash()
  broker.deleteTopic(TOPIC)
  broker.createTopic({ name: TOPIC, partitions: 1 })
  append('letter 0')
  calls.length = 0
  control.answer = () => DELIVERED
  run()
  await until(() => calls.length === 1)
  for (const value of ['new 1', 'new 2', 'new 3']) append(value)
  await until(() => committed()?.offset === 4)
  expect(calls.map(({ value }) => value)).toEqual(['letter 0', 'new 1', 'new 2', 'new 3'])
})

test('records of a topic that was created again are delivered from the beginning, even if the new log is longer', async () => {
  const { append, run, until, calls, committed, broker } = world()
  for (const value of ['old 0', 'old 1']) append(value)
  const first = run()
  await until(() => committed()?.offset === 2)
  first.crash()
  broker.deleteTopic(TOPIC)
  broker.createTopic({ name: TOPIC, partitions: 1 })
  calls.length = 0
  for (const value of ['new 0', 'new 1', 'new 2']) append(value)
  run()
  await until(() => committed()?.offset === 3)
  expect(calls.map(({ value }) => value)).toEqual(['new 0', 'new 1', 'new 2'])
})

test('a failed record waits in the retry topic while the position advances, and is delivered again after growing pauses', async () => {
  const { append, run, until, calls, control, committed, broker, runtime } = world()
  control.answer = (value, attempt) => (value === 'late' && attempt <= 4 ? FAILED : DELIVERED)
  append('late')
  append('prompt')
  const sink = run()
  await until(() => committed()?.offset === 2)
  expect(sink.deliveries?.delivered).toBe(1)
  const [waiting] = broker.records(RETRIES)
  expect(waiting.partition).toBe(0)
  expect([headerOf(waiting, 'trace'), headerOf(waiting, 'retry.failures'), headerOf(waiting, 'retry.reason')]).toEqual([
    'own',
    '1',
    'http_500',
  ])
  const start = runtime.now()
  await until(() => sink.deliveries?.delivered === 2, 5 * MINUTE_MS)
  const pauses = calls.filter(({ value }) => value === 'late').map(({ at }, index, all) => (index === 0 ? 0 : at - all[index - 1].at))
  // The pauses include jitter of at most a fifth. The manual runtime always draws half of the maximum.
  for (const [index, expected] of [0, 1_100, 1_100, 11_000, 11_000].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(expected)
    expect(pauses[index]).toBeLessThan(expected + 200)
  }
  expect(runtime.now() - start).toBeLessThan(MINUTE_MS)
  expect(sink.deliveries?.failed).toEqual(new Map([['http_500', 4]]))
  await until(() => [...broker.groups.committed(SINK)].filter(([key]) => key.startsWith(RETRIES)).length === RETRY_STEPS)
})

test('a receiver can request a pause', async () => {
  const { append, run, until, calls, control } = world()
  control.answer = (_value, attempt) => (attempt === 1 ? { ...FAILED, code: 'http_429', retryAfterMs: 90_000 } : DELIVERED)
  append('letter')
  run()
  await until(() => calls.length === 2, 5 * MINUTE_MS)
  expect(calls[1].at - calls[0].at).toBeGreaterThanOrEqual(90_000)
  expect(calls[1].at - calls[0].at).toBeLessThan(91_000)
})

test('retries use at most a quarter of the delivery slots', async () => {
  const { append, run, until, pass, control, attempts } = world({ concurrency: 8 })
  const isPoison = (value: string) => value.startsWith('poison')
  let hanging = 0
  control.answer = (value, attempt) => {
    if (!isPoison(value)) return DELIVERED
    if (attempt === 1) return FAILED
    hanging++
    return new Promise(() => {})
  }
  for (let index = 0; index < 20; index++) append(`poison ${index}`)
  const sink = run()
  await until(() => hanging > 0)
  await pass(20_000)
  expect(hanging).toBe(2)
  append('letter')
  await until(() => attempts('letter') === 1, 1_000)
  expect(sink.deliveries?.delivered).toBe(1)
})

test('a record that fails until the time for its retries is over becomes a dead letter that names its original topic, and a replay delivers it', async () => {
  const { append, run, until, calls, control, broker } = world({ giveUpAfterMs: 10 * MINUTE_MS, tickMs: 100 })
  control.answer = () => FAILED
  append('other')
  append('letter')
  const sink = run()
  await until(() => sink.deliveries?.deadLettered.get('http_500') === 2, 20 * MINUTE_MS)
  const attempts = calls.filter(({ value }) => value === 'letter')
  expect(attempts.length).toBeGreaterThan(8)
  expect(attempts.at(-1)!.at - attempts[0].at).toBeGreaterThanOrEqual(10 * MINUTE_MS)
  expect(attempts.at(-1)!.at - attempts[0].at).toBeLessThan(11 * MINUTE_MS)
  const letter = broker.records(LETTERS).find(({ value }) => value?.toString() === '"letter"')!
  expect(letter.key?.toString()).toBe('letter')
  expect(letter.headers.map(({ key }) => key)).not.toContain('retry.failures')
  expect(['topic', 'partition', 'offset', 'code', 'topology'].map((name) => headerOf(letter, `dead-letter.${name}`))).toEqual([
    TOPIC,
    '0',
    '1',
    'http_500',
    SINK,
  ])

  control.answer = () => DELIVERED
  await replayDeadLetters(memoryTransport(broker), SINK)
  await until(() => sink.deliveries?.delivered === 2)
})

test('a refused record becomes a dead letter at once, and a dropped record is only counted', async () => {
  const { append, run, until, control, calls, texts, committed } = world()
  control.answer = (value) =>
    value === 'refused' ? { outcome: 'refused', code: 'http_404', message: 'status 404' } : { outcome: 'dropped', code: 'old' }
  append('refused')
  append('old')
  const sink = run()
  await until(() => committed()?.offset === 2)
  expect(texts(LETTERS)).toEqual(['"refused"'])
  expect(texts(RETRIES)).toEqual([])
  expect(calls).toHaveLength(2)
  expect(sink.deliveries).toMatchObject({ delivered: 0, dropped: new Map([['old', 1]]), deadLettered: new Map([['http_404', 1]]) })
})

test('a sink without dead letters counts a refused record as dropped', async () => {
  const { append, run, until, control, committed } = world({ deadLetters: false })
  control.answer = () => ({ outcome: 'refused', code: 'http_404', message: 'status 404' })
  append('refused')
  const sink = run()
  await until(() => committed()?.offset === 1)
  expect(sink.deliveries).toMatchObject({ dropped: new Map([['http_404', 1]]), deadLettered: new Map() })
})

test('records that cannot be decoded become dead letters, and the receiver gets all other records', async () => {
  const { append, run, until, broker, texts, committed } = world()
  append('first')
  broker.append(TOPIC, 0, { timestamp: 5, key: Buffer.from('k'), value: Buffer.from('{'), headers: [] })
  append('last')
  const sink = run()
  await until(() => committed()?.offset === 3)
  expect(texts(LETTERS)).toEqual(['{'])
  expect(sink.metrics).toMatchObject({ applied: 2, badRecords: 1 })
})

test('a record that cannot be decoded when it is retried becomes a dead letter that names its original topic', async () => {
  const { run, until, broker, texts } = world()
  run()
  await until(() => broker.topics().includes(RETRIES))
  const header = (key: string, value: string) => ({ key, value: Buffer.from(value) })
  const headers = [header('trace', 'own'), header('retry.topic', TOPIC), header('retry.offset', '7'), header('retry.failures', '1')]
  broker.append(RETRIES, 0, { timestamp: 5, key: Buffer.from('k'), value: Buffer.from('{'), headers })
  await until(() => texts(LETTERS).length === 1)
  const [letter] = broker.records(LETTERS)
  expect([headerOf(letter, 'dead-letter.topic'), headerOf(letter, 'dead-letter.offset')]).toEqual([TOPIC, '7'])
  expect(letter.headers.map(({ key }) => key)).not.toContain('retry.failures')
})

test('a failed record that Kafka does not accept into the retry topic is not skipped', async () => {
  const { append, run, until, pass, broker, control, committed, texts } = world()
  control.answer = (value, attempt) => (value === 'letter' && attempt === 1 ? FAILED : DELIVERED)
  broker.publishGate = Promise.reject(new TransportError('NOT_ENOUGH_REPLICAS', 'not enough replicas', { fatal: false }))
  broker.publishGate.catch(() => {})
  append('letter')
  append('next')
  const sink = run()
  await until(() => sink.deliveries?.delivered === 1)
  await pass(5_000)
  expect(committed()?.offset ?? 0).toBe(0)
  broker.publishGate = undefined
  await until(() => texts(RETRIES).length === 1)
  await until(() => sink.deliveries?.delivered === 2)
  await until(() => committed()?.offset === 2)
})

test('a sink stops within seconds even if Kafka does not acknowledge the write of a failed record, and the next sink delivers the record again', async () => {
  const { append, run, until, broker, control, calls, committed, runtime } = world()
  control.answer = (_value, attempt) => (attempt === 1 ? FAILED : DELIVERED)
  broker.publishGate = new Promise(() => {})
  append('letter')
  const sink = run()
  await until(() => sink.deliveries?.failed.get('http_500') === 1)
  const stoppedAt = runtime.now()
  await sink.stop()
  expect(runtime.now() - stoppedAt).toBeLessThan(5_000)
  expect(committed()?.offset ?? 0).toBe(0)
  run()
  await until(() => calls.length === 2)
  await until(() => committed()?.offset === 1)
})

test('a sink that stops gracefully waits for its deliveries, so that none is repeated', async () => {
  const { append, run, until, control, calls, committed } = world()
  const gate = Promise.withResolvers<DeliveryOutcome>()
  control.answer = () => gate.promise
  append('letter')
  const sink = run()
  await until(() => calls.length === 1)
  const stopping = sink.stop()
  gate.resolve(DELIVERED)
  await stopping
  expect(committed()?.offset).toBe(1)
})

test('records that retention deletes while all deliveries hang are counted as lost', async () => {
  const { append, broker, run, until, pass, calls, control } = world({ concurrency: 1 })
  const gate = Promise.withResolvers<DeliveryOutcome>()
  control.answer = () => gate.promise
  const sink = run()
  const lane = () => sink.lanes().find(({ topic }) => topic === TOPIC)
  await until(() => sink.isReady)
  const total = 1_500
  for (let record = 0; record < total; record++) append(`${record}-${'x'.repeat(5_000)}`)
  // The sink stops fetching when its buffer is full, and continues only when less than 2 MiB of records wait. Its only
  // delivery slot hangs, so the records that it has not fetched yet are deleted before it continues.
  await until(() => calls.length === 1 && (lane()?.queuedBytes ?? 0) > 2 * 1024 * 1024)
  await pass(1_000)
  broker.log(TOPIC, 0).truncateBefore(total - 1)
  gate.resolve(DELIVERED)
  await until(() => lane()?.position === total)
  expect(sink.metrics.lostRecords).toBeGreaterThan(0)
  expect(sink.metrics.lostRecords + sink.metrics.applied).toBe(total)
})

test('if the delivery function throws instead of returning an outcome, the sink stops', async () => {
  const { append, run, until, control } = world()
  control.answer = () => {
    throw new Error('a bug')
  }
  append('letter')
  const sink = run()
  let reason = ''
  sink.run().catch((error: Error) => {
    reason = error.message
  })
  await until(() => reason !== '')
  expect(reason).toBe('a bug')
})

test('a sink that stopped with an error does not retry writes to Kafka', async () => {
  const { append, run, until, pass, control, broker } = world()
  const inner = memoryTransport(broker)
  let writes = 0
  const refuse = () => {
    writes++
    throw new TransportError('BUFFER_FULL', 'too much is waiting', { fatal: false })
  }
  const transport: Transport = {
    ...inner,
    publisher: () => ({ ...inner.publisher(), appender: (topic, partition) => ({ topic, partition, append: refuse }) }),
  }
  control.answer = (value) => {
    if (value === 'bug') throw new Error('a bug')
    return FAILED
  }
  append('letter')
  let isOver = false
  run(transport)
    .run()
    .catch(() => {
      isOver = true
    })
  await until(() => writes > 2)
  append('bug')
  await until(() => isOver)
  await pass(10_000)
  const before = writes
  await pass(60_000)
  expect(writes).toBe(before)
})

test('failed commits are retried without delivering a record again', async () => {
  const { append, run, until, broker, calls, committed } = world()
  const inner = memoryTransport(broker)
  let refusals = 3
  const transport = {
    ...inner,
    memberlessGroup(groupId: string) {
      const group = inner.memberlessGroup(groupId)
      const commit: typeof group.commit = async (offsets) => {
        if (refusals-- > 0) throw new TransportError('DISCONNECTED', 'no broker', { fatal: false })
        await group.commit(offsets)
      }
      return { ...group, commit }
    },
  }
  append('letter')
  run(transport)
  await until(() => committed()?.offset === 1)
  expect(calls).toHaveLength(1)
})

test.each([1, 2, 3, 4, 5, 6, 7, 8])('faults and crashes lose no record (seed %i)', async (seed) => {
  const random = seededRandom(seed)
  const { append, run, until, pass, control, broker, calls, texts } = world({ partitions: 2, concurrency: 6, tickMs: 50 })
  const values = Array.from({ length: 60 }, (_, index) => `letter ${index}`)
  const delivered = new Map<string, number>()
  control.answer = async (value) => {
    const fate = random()
    for (let turn = Math.floor(random() * 5); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve))
    if (fate < 0.25) return FAILED
    if (fate < 0.3) return { outcome: 'refused', code: 'http_410', message: 'gone' }
    delivered.set(value, (delivered.get(value) ?? 0) + 1)
    return DELIVERED
  }
  let crashes = 0
  let sink = run()
  for (const value of values) {
    append(value, random() < 0.5 ? 0 : 1)
    if (random() < 0.3) await pass(50)
    if (random() > 0.1) continue
    sink.crash()
    crashes++
    sink = run()
  }
  const letters = () => new Set(texts(LETTERS).map((text) => JSON.parse(text) as string))
  await until(() => values.every((value) => delivered.has(value) || letters().has(value)), 30 * MINUTE_MS)
  // A crash repeats at most the records in flight, one per slot, and the records whose commit was still outstanding.
  const repeats = [...delivered.values()].reduce((sum, count) => sum + count - 1, 0)
  expect(repeats).toBeLessThanOrEqual(crashes * 2 * 6)
  expect(calls.length).toBeGreaterThanOrEqual(values.length)
  expect(broker.topics()).toContain(RETRIES)
})
