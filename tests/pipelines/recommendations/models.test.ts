import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { groupJob, type Runner } from '../../../pipelines/engine/index.ts'
import { modelJob } from '../../../pipelines/recommendations/models/job.ts'
import {
  type Train,
  type TrainingOrder,
  type TrainingResult,
  TrainingTimeoutError,
} from '../../../pipelines/recommendations/models/training.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import { MODELS_KEY, modelRequests, modelRuns, modelTopics, recommendationModels } from '../../../schemas/recommendations/models/topics.ts'
import type { ModelHistory, ModelRequest, ModelRun } from '../../../schemas/recommendations/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { groupOf, loneSeat } from '../engine/sinks/lone-seat.ts'

const START = Date.UTC(2026, 7, 1)
const HOUR = 3_600_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 8_000, interval: 10 })

/** A training run. If no result has been prepared for a run, the run waits until the test ends it. */
interface Begun {
  readonly worker: string
  readonly order: TrainingOrder
  end(result: TrainingResult | Error): void
}

/**
 * Creates an in-memory broker, and functions that start workers with the training job, send them requests and read
 * results.
 */
async function world({ trainEveryMs }: { trainEveryMs?: number } = {}) {
  const broker = memoryBroker()
  for (const { name, partitions, config } of modelTopics) broker.createTopic({ name, partitions, config })
  const registry = memoryRegistry()
  const serdes = await openSerdes(registry, modelTopics)
  const clock = { now: START }
  const begun: Begun[] = []
  const swept: ModelHistory[] = []
  const warned: string[] = []
  /** Results of the next training runs. A training run with a result ends immediately. */
  const results: TrainingResult[] = []
  let ids = 0

  function start(worker: string, transport: Transport = memoryTransport(broker)): Runner {
    const train: Train = (order) =>
      new Promise((resolve, reject) => {
        order.signal.addEventListener('abort', () => reject(new Error('the training run was stopped')))
        const [atOnce] = results.splice(0, 1)
        if (atOnce !== undefined) resolve(atOnce)
        begun.push({ worker, order, end: (result) => (result instanceof Error ? reject(result) : resolve(result)) })
      })
    const { log } = systemRuntime()
    const warn = (_fields: object, event: string) => void warned.push(event)
    const runtime = { now: () => clock.now, id: () => `run-${++ids}`, log: { ...log, warn } }
    const sweep = async (kept: ModelHistory) => void swept.push(kept)
    const job = modelJob({ train, trainEveryMs, sweep, runtime })
    const runner = groupJob(job, { transport, registry, seat: loneSeat(transport, 'models', worker), runtime: systemRuntime() })
    void runner.start()
    onTestFinished(() => runner.stop())
    return runner
  }

  function ask(request_id: string, action: ModelRequest['action'], more: Partial<ModelRequest> = {}): void {
    const value = { request_id, action, version: null, percent: 0, requested_by: 'test', requested_at: clock.now, ...more }
    const out = byteWriter()
    serdes.codecFor(modelRequests).encode(value, out)
    const bytes = Buffer.from(out.buffer.subarray(0, out.length))
    broker.append(modelRequests.name, 0, { timestamp: clock.now, key: Buffer.from(MODELS_KEY), value: bytes, headers: [] })
  }

  function values<V>(topic: Topic<string, V>): V[] {
    const codec: Codec<V> = serdes.codecFor(topic)
    return broker.records(topic.name).map(({ value }) => codec.decode(value as Buffer, 0, (value as Buffer).length))
  }

  return {
    broker,
    clock,
    begun,
    swept,
    warned,
    results,
    start,
    ask,
    models: () => values(recommendationModels).at(-1),
    runs: () => new Map(values(modelRuns).map((run) => [run.run_id, run])),
    run: (id: string): ModelRun | undefined =>
      values(modelRuns)
        .filter(({ run_id }) => run_id === id)
        .at(-1),
  }
}

function good(version: string): TrainingResult {
  const files = [{ name: 'items.ids', hash: 'a'.repeat(64), bytes: 8 }]
  return { state: 'IN_FORCE', reason: '', version, learnedUntil: START - HOUR, metrics: { ndcg_candidate: 0.2 }, files }
}

const worse: TrainingResult = { state: 'REFUSED', reason: 'worse', version: 'worse', learnedUntil: START, metrics: {} }

test('a request trains a version, and when the end of the run is recorded, the version is in force', async () => {
  const { start, ask, begun, models, run, swept } = await world()
  start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  expect(begun[0].order).toMatchObject({ sequence: 1, trainedAt: START, inForce: undefined })
  expect(run('run-1')).toMatchObject({ state: 'RUNNING', request_ids: ['one'], compared_with: null })
  begun[0].end(good('v1'))
  await eventually(() => run('run-1')?.state).toBe('IN_FORCE')
  expect(models()).toMatchObject({ champion: 'v1', earlier: [''], versions: [{ version: 'v1', sequence: 1, trained_at: START }] })
  await eventually(() => swept.length).toBe(1)

  ask('two', 'TRAIN')
  await eventually(() => begun.length).toBe(2)
  expect(begun[1].order).toMatchObject({ sequence: 2, inForce: { version: 'v1' } })
})

test('the version in force stays when a candidate is refused, or when its training fails', async () => {
  const { start, ask, begun, models, run } = await world()
  start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  begun[0].end(good('v1'))
  await eventually(() => models()?.champion).toBe('v1')
  ask('two', 'TRAIN')
  await eventually(() => begun.length).toBe(2)
  begun[1].end(worse)
  await eventually(() => run('run-2')).toMatchObject({ state: 'REFUSED', reason: 'worse', version: 'worse' })
  ask('three', 'TRAIN')
  await eventually(() => begun.length).toBe(3)
  begun[2].end(new Error('no space left on device'))
  await eventually(() => run('run-3')).toMatchObject({ state: 'FAILED', reason: 'no space left on device' })
  expect(models()).toMatchObject({ champion: 'v1', versions: [{ version: 'v1' }] })
})

test('a version that an operator chooses during a training run stays in force, and a further training request joins the run', async () => {
  const { start, ask, begun, models, run } = await world()
  start('a')
  for (const version of ['v1', 'v2']) {
    const before = begun.length
    ask(version, 'TRAIN')
    await eventually(() => begun.length).toBe(before + 1)
    begun[before].end(good(version))
    await eventually(() => models()?.champion).toBe(version)
  }
  ask('three', 'TRAIN')
  await eventually(() => begun.length).toBe(3)
  ask('back', 'ROLL_BACK')
  await eventually(() => models()?.champion).toBe('v1')
  ask('trial', 'CHALLENGE', { version: 'v2', percent: 10 })
  await eventually(() => models()).toMatchObject({ challenger: 'v2', challenger_percent: 10 })
  ask('forward', 'PROMOTE', { version: 'v2' })
  await eventually(() => models()).toMatchObject({ champion: 'v2', challenger: null, challenger_percent: 0 })
  ask('four', 'TRAIN')
  await eventually(() => run('run-3')?.request_ids).toEqual(['three', 'four'])
  expect(begun).toHaveLength(3)
  begun[2].end(good('v3'))
  await eventually(() => run('run-3')).toMatchObject({ state: 'REFUSED', reason: expect.stringContaining('an operator chose') })
  expect(run('run-3')?.request_ids).toEqual(['three', 'four'])
  expect(models()).toMatchObject({ champion: 'v2', versions: [{ version: 'v3' }, { version: 'v2' }, { version: 'v1' }] })
  ask('use', 'PROMOTE', { version: 'v3' })
  await eventually(() => models()?.champion).toBe('v3')

  ask('five', 'TRAIN')
  await eventually(() => begun.length).toBe(4)
  ask('other-trial', 'CHALLENGE', { version: 'v1', percent: 20 })
  await eventually(() => models()?.challenger).toBe('v1')
  begun[3].end(good('v4'))
  await eventually(() => run('run-4')?.state).toBe('IN_FORCE')
  expect(models()).toMatchObject({ champion: 'v4', challenger: 'v1', challenger_percent: 20 })
})

test('an operator who promotes the version in force during a training run keeps it in force', async () => {
  const { start, ask, begun, models, run } = await world()
  start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  begun[0].end(good('v1'))
  await eventually(() => models()?.champion).toBe('v1')
  ask('two', 'TRAIN')
  await eventually(() => begun.length).toBe(2)
  ask('keep', 'PROMOTE', { version: 'v1' })
  begun[1].end(good('v2'))
  await eventually(() => run('run-2')?.state).toBe('REFUSED')
  expect(run('run-2')?.reason).toContain('an operator chose')
  expect(models()).toMatchObject({ champion: 'v1', earlier: [''], versions: [{ version: 'v2' }, { version: 'v1' }] })
})

test('a roll-back request that was not read before a training run ended takes precedence over the new version', async () => {
  const { start, ask, begun, models, run, results } = await world()
  for (const version of ['v1', 'v2', 'v3']) results.push(good(version))
  start('a')
  for (const version of ['v1', 'v2']) {
    ask(version, 'TRAIN')
    await eventually(() => models()?.champion).toBe(version)
  }
  // The two requests arrive together, and the training run ends before the second request is read.
  ask('three', 'TRAIN')
  ask('back', 'ROLL_BACK', { version: 'v2' })
  await eventually(() => run('run-3')?.state).toBe('REFUSED')
  expect(models()).toMatchObject({ champion: 'v1', earlier: [''], versions: [{ version: 'v3' }, { version: 'v2' }, { version: 'v1' }] })
  expect(begun).toHaveLength(3)
})

test('a roll-back takes the named version out of force, and also a version that training has since put in its place, but changes nothing if it names any other version', async () => {
  const { start, ask, models, results, warned } = await world()
  for (const version of ['v1', 'v2', 'v3']) results.push(good(version))
  start('a')
  for (const version of ['v1', 'v2', 'v3']) {
    ask(version, 'TRAIN')
    await eventually(() => models()?.champion).toBe(version)
  }
  ask('late', 'ROLL_BACK', { version: 'v2' })
  await eventually(() => models()?.champion).toBe('v1')
  expect(models()?.versions.map(({ version }) => version)).toEqual(['v3', 'v2', 'v1'])
  ask('use', 'PROMOTE', { version: 'v3' })
  await eventually(() => models()?.champion).toBe('v3')
  ask('stale', 'ROLL_BACK', { version: 'v1' })
  await eventually(() => warned).toEqual(['model_request_without_effect'])
  ask('back', 'ROLL_BACK', { version: 'v3' })
  await eventually(() => models()?.champion).toBe('v1')
})

test('a request for an unknown version, and a roll-back without an earlier version, change nothing', async () => {
  const { start, ask, models, begun } = await world()
  start('a')
  ask('one', 'PROMOTE', { version: 'unknown' })
  ask('two', 'ROLL_BACK')
  ask('three', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  expect(models()).toBeUndefined()
})

test('a worker that has lost the job publishes nothing, and the next worker trains again for the same requests', async () => {
  const { broker, start, ask, begun, models, run } = await world()
  start('b')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  broker.groups.expire(groupOf('models'), 'b')
  // The new worker gets the partition, because the assignor prefers members whose names sort first.
  start('a')
  await eventually(() => begun.at(-1)?.worker).toBe('a')
  begun[0].end(good('lost'))
  await eventually(() => begun[0].order.signal.aborted).toBe(true)
  expect(run('run-1')).toMatchObject({ state: 'FAILED', reason: 'the worker ended or lost its partition during this run' })
  const last = begun.at(-1)!
  expect(run(last.order.runId)).toMatchObject({ state: 'RUNNING', request_ids: ['one'] })
  last.end(good('kept'))
  await eventually(() => models()?.champion).toBe('kept')
  expect(models()?.versions.map(({ version }) => version)).toEqual(['kept'])
})

test('a run that was cut off is retried at once, but if the retry is cut off as well, the next run begins a quarter of an hour later', async () => {
  const { start, clock, ask, begun, run, warned } = await world()
  let runner = start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  await runner.stop()
  runner = start('b')
  await eventually(() => begun.length).toBe(2)
  await runner.stop()
  clock.now += HOUR / 4 - 1
  start('c')
  // This request has no effect. Its warning shows that the job has checked the clock.
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(1)
  expect(begun).toHaveLength(2)
  clock.now += 1
  ask('look', 'PROMOTE')
  await eventually(() => begun.length).toBe(3)
  expect([run('run-2')?.state, run('run-3')?.request_ids]).toEqual(['FAILED', ['one']])
})

test('if a worker fails right after it has taken over a run, the next turn still trains for the requests of the run', async () => {
  const { broker, start, ask, begun, run } = await world()
  start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  const transport = memoryTransport(broker)
  let commits = 0
  const producer: Transport['producer'] = (options) => {
    const opened = transport.producer(options)
    const commit: typeof opened.commit = async (...given) => {
      if (++commits === 2) throw new Error('the broker is down')
      return await opened.commit(...given)
    }
    return Object.assign(Object.create(opened), { commit })
  }
  broker.groups.expire(groupOf('models'), 'a')
  start('b', { ...transport, producer })
  await eventually(() => begun.length).toBe(2)
  expect(run('run-1')).toMatchObject({ state: 'FAILED' })
  expect(run('run-2')).toMatchObject({ state: 'RUNNING', request_ids: ['one'] })
})

test('the first training run begins a quarter of an hour after the first start, and the next run begins after the set interval', async () => {
  const { start, clock, begun, run, ask, warned } = await world({ trainEveryMs: 4 * HOUR })
  const runner = start('a')
  // This request has no effect. Its warning shows that the job has checked the clock.
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(1)
  clock.now += HOUR / 4
  ask('look', 'PROMOTE')
  await eventually(() => begun.length).toBe(1)
  begun[0].end(good('v1'))
  await eventually(() => run('run-1')?.state).toBe('IN_FORCE')
  await runner.stop()
  clock.now += 4 * HOUR - 1
  start('b')
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(3)
  expect(begun).toHaveLength(1)
  clock.now += 1
  ask('look', 'PROMOTE')
  await eventually(() => begun.length).toBe(2)
  expect(begun[1].order).toMatchObject({ trainedAt: START + HOUR / 4 + 4 * HOUR, inForce: { version: 'v1' } })
})

test('the first training run is not delayed if the worker loses the job and gets it back', async () => {
  const { broker, start, clock, begun, ask, warned } = await world({ trainEveryMs: 4 * HOUR })
  start('a')
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(1)
  clock.now += HOUR / 4 - 1
  broker.groups.expire(groupOf('models'), 'a')
  // The warning shows that the next turn has begun, and has checked the clock.
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(2)
  expect(begun).toHaveLength(0)
  clock.now += 1
  ask('look', 'PROMOTE')
  await eventually(() => begun.length).toBe(1)
})

test.each([
  ['the same worker', false],
  ['the next worker', true],
])('if the clock was ahead during a run and is set back, %s trains again after the set interval at the latest', async (_, restarts) => {
  const { start, clock, begun, run, ask, warned } = await world({ trainEveryMs: 4 * HOUR })
  clock.now += 365 * 24 * HOUR
  const runner = start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  begun[0].end(new TrainingTimeoutError())
  await eventually(() => begun.length).toBe(2)
  begun[1].end(good('v1'))
  await eventually(() => run('run-2')?.state).toBe('IN_FORCE')
  clock.now = START
  if (restarts) {
    await runner.stop()
    start('b')
  }
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(1)
  clock.now += 4 * HOUR
  ask('look', 'PROMOTE')
  await eventually(() => begun.length).toBe(3)
  expect(begun[2].order).toMatchObject({ trainedAt: START + 4 * HOUR, isUrgent: false })
})

test('a run that exceeds its time limit is immediately followed by an urgent run, and all runs in the next 24 hours are urgent', async () => {
  const { start, clock, begun, run, ask } = await world({ trainEveryMs: 4 * HOUR })
  const runner = start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  expect(begun[0].order.isUrgent).toBe(false)
  clock.now += HOUR
  begun[0].end(new TrainingTimeoutError())
  await eventually(() => begun.length).toBe(2)
  expect(run('run-1')).toMatchObject({ state: 'FAILED', reason: 'the training took too long' })
  expect(begun[1].order.isUrgent).toBe(true)
  // An urgent run that exceeds its time limit is not repeated immediately, because it may have hung.
  begun[1].end(new TrainingTimeoutError())
  await eventually(() => run('run-2')?.state).toBe('FAILED')
  // The next worker finds the run that exceeded its time limit in the topic of training runs.
  await runner.stop()
  start('b')
  clock.now += 23 * HOUR
  ask('two', 'TRAIN')
  await eventually(() => begun.length).toBe(3)
  expect(begun[2].order.isUrgent).toBe(true)
  begun[2].end(good('v1'))
  await eventually(() => run('run-3')?.state).toBe('IN_FORCE')
  clock.now += HOUR
  ask('three', 'TRAIN')
  await eventually(() => begun.length).toBe(4)
  expect(begun[3].order.isUrgent).toBe(false)
})

test('a run that fails is repeated after a quarter of an hour, and the pause doubles with each further failure, even if the worker restarts', async () => {
  const { start, clock, begun, run, ask, warned } = await world({ trainEveryMs: 4 * HOUR })
  let runner = start('a')
  /** The request has no effect. Its warning shows that the job has checked the clock. */
  async function look(): Promise<void> {
    const before = warned.length
    ask('look', 'PROMOTE')
    await eventually(() => warned.length).toBe(before + 1)
  }
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  const pauses = [HOUR / 4, HOUR / 2, HOUR]
  for (const [failure, pause] of pauses.entries()) {
    begun[failure].end(new Error('ClickHouse does not respond'))
    await eventually(() => run(`run-${failure + 1}`)?.state).toBe('FAILED')
    if (failure === 1) {
      await runner.stop()
      runner = start('b')
    }
    clock.now += pause - 1
    await look()
    expect(begun).toHaveLength(failure + 1)
    clock.now += 1
    await look()
    await eventually(() => begun.length).toBe(failure + 2)
    expect(begun[failure + 1].order.isUrgent).toBe(false)
  }
  // After a success, the next run begins after the set interval.
  begun[3].end(good('v1'))
  await eventually(() => run('run-4')?.state).toBe('IN_FORCE')
  clock.now += 4 * HOUR - 1
  await look()
  expect(begun).toHaveLength(4)
  clock.now += 1
  await look()
  await eventually(() => begun.length).toBe(5)
})

test('without a set interval, a run that fails is not repeated', async () => {
  const { start, clock, begun, run, ask, warned } = await world()
  start('a')
  ask('one', 'TRAIN')
  await eventually(() => begun.length).toBe(1)
  begun[0].end(new Error('ClickHouse does not respond'))
  await eventually(() => run('run-1')?.state).toBe('FAILED')
  clock.now += 24 * HOUR
  ask('look', 'PROMOTE')
  await eventually(() => warned.length).toBe(1)
  expect(begun).toHaveLength(1)
})
