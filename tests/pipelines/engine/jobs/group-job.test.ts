import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { FencedError, type Transport } from '../../../../kafka/transport.ts'
import { type GroupJob, groupJob, type JobTurn, jobRecord, type Runner } from '../../../../pipelines/engine/index.ts'
import type { SinkSeat } from '../../../../pipelines/engine/sinks/sink-group.ts'
import type { Runtime } from '../../../../runtime/runtime.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { avroValue } from '../../../../schemas/avro/value.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { EPOCH, inEpoch } from '../../../kafka/in-epoch.ts'
import { groupOf, loneSeat } from '../sinks/lone-seat.ts'

const schema = { type: 'record', name: 'Note', fields: [{ name: 'text', type: 'string' }] }
const noteTopic = (name: string): Topic<string, { text: string }> => ({ name, key: utf8, value: avroValue(schema), partitions: 1 })
const orders = noteTopic('orders')
const reports = noteTopic('reports')

type Turn = JobTurn<string, { text: string }>

function world() {
  const broker = memoryBroker()
  broker.createTopic({ name: 'orders', partitions: 1 })
  const registry = memoryRegistry()
  const epochs: (number | undefined)[] = []

  function order(text: string): void {
    const out = byteWriter()
    orders.value.open(1, { get: () => undefined }).encode({ text }, out)
    broker.append('orders', 0, {
      timestamp: 5,
      key: Buffer.from('key'),
      value: Buffer.from(out.buffer.subarray(0, out.length)),
      headers: [],
    })
  }

  function start(memberId: string, run: (turn: Turn) => Promise<void>, runtime: Runtime = systemRuntime()): Runner {
    const transport = inEpoch(memoryTransport(broker), epochs)
    const job: GroupJob<string, { text: string }> = { name: 'clerk', requests: orders, publishes: [reports], run }
    const runner = groupJob(job, { transport, registry, seat: loneSeat(transport, 'clerk', memberId), runtime })
    void runner.start()
    onTestFinished(() => runner.stop())
    return runner
  }

  const reported = () =>
    broker.topics().includes('reports') ? broker.records('reports').map(({ value }) => String((value as Buffer).subarray(6))) : []
  return { broker, registry, epochs, order, start, reported }
}

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 8_000, interval: 10 })

/** Returns the `run` function of a job that reports each order as `<member> <order>`. */
function clerk(member: string): (turn: Turn) => Promise<void> {
  return async (turn) => {
    while (!turn.signal.aborted) {
      const request = await turn.nextRequest(50)
      if (request === undefined) continue
      await turn.publish(reports, 'key', { text: `${member} ${request.value.text}` })
      await turn.completed(request)
    }
  }
}

test('one process of a group runs the job, and handles the requests in order', async () => {
  const { start, order, reported } = world()
  const [first, second] = [start('a', clerk('a')), start('b', clerk('b'))]
  const owners = () => [first, second].map((runner) => (runner.report() as { owner: boolean }).owner)
  await eventually(() => owners().filter(Boolean).length).toBe(1)
  order('one')
  order('two')
  await eventually(reported).toHaveLength(2)
  const member = owners()[0] ? 'a' : 'b'
  expect(reported()).toEqual([`${member} one`, `${member} two`])
})

test('another process continues after the last completed request', async () => {
  const { start, order, reported } = world()
  const first = start('a', clerk('a'))
  order('one')
  await eventually(reported).toEqual(['a one'])
  await first.stop()
  order('two')
  start('b', clerk('b'))
  await eventually(reported).toEqual(['a one', 'b two'])
})

test('a process that takes over the job fetches with the leader epoch of the last completed request, so that it detects whether the log has lost completed requests', async () => {
  const { start, order, reported, epochs } = world()
  const first = start('a', clerk('a'))
  order('one')
  await eventually(reported).toEqual(['a one'])
  await first.stop()
  const before = epochs.length
  start('b', clerk('b'))
  await eventually(() => epochs.slice(before)).toEqual([EPOCH])
})

test('if the topic of the requests was created again, a process that takes over the job reads the topic from its beginning, without a leader epoch', async () => {
  const { start, order, reported, epochs, broker } = world()
  const first = start('a', clerk('a'))
  order('one')
  await eventually(reported).toEqual(['a one'])
  await first.stop()
  broker.deleteTopic('orders')
  broker.createTopic({ name: 'orders', partitions: 1 })
  order('new one')
  order('new two')
  const before = epochs.length
  start('b', clerk('b'))
  await eventually(reported).toEqual(['a one', 'b new one', 'b new two'])
  expect(epochs.slice(before)).toEqual([undefined])
})

test('after a turn has failed, another turn begins and again gets the request that was not completed', async () => {
  const { start, order, reported } = world()
  let attempts = 0
  order('one')
  const runner = start('a', async (turn) => {
    const request = await turn.nextRequest(1_000)
    if (request === undefined) return
    if (++attempts === 1) throw new Error('no luck')
    await turn.publish(reports, 'key', request.value)
    await turn.completed(request)
  })
  await eventually(reported).toEqual(['one'])
  expect(attempts).toBe(2)
  expect((runner.report() as { turns: number }).turns).toBeGreaterThanOrEqual(2)
})

/** Returns a runtime in which pauses after failed turns end at once, and the planned lengths of these pauses in ms. */
function pausesOf(): { readonly runtime: Runtime; readonly pauses: number[] } {
  const pauses: number[] = []
  const system = systemRuntime()
  /** Waits of exactly one second belong to the job's loop, so they are neither shortened nor recorded. */
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (ms !== 1_000) pauses.push(ms)
    return system.sleep(ms === 1_000 ? ms : 0, signal)
  }
  return { runtime: { ...system, sleep }, pauses }
}

test('a job that returns before its turn ends counts as failing, so its next turn begins after a pause', async () => {
  const { start } = world()
  // Lets timers run, so that the test would fail at its deadline if turns followed each other without a pause.
  const runner = start('a', () => new Promise((resolve) => setImmediate(resolve)))
  const failure = () => (runner.report() as { failure: string | undefined }).failure
  await eventually(failure).toBe('the job returned before its turn ended')
  const { value } = [...runner.samples()].find(({ name }) => name === 'job_failing')!
  expect(value).toBe(1)
})

test('once a turn has completed a request, the job no longer counts as failing, and the pause after the next failure is as short as the first pause', async () => {
  const { start, order } = world()
  const { runtime, pauses } = pausesOf()
  let attempts = 0
  const runner = start(
    'a',
    async (turn) => {
      if (++attempts <= 3) throw new Error('no luck')
      while (!turn.signal.aborted) {
        const request = await turn.nextRequest(100)
        if (request === undefined) continue
        if (request.value.text === 'broken' && attempts === 4) throw new Error('no luck again')
        await turn.completed(request)
      }
    },
    runtime,
  )
  const failure = () => (runner.report() as { failure?: string }).failure
  await eventually(() => attempts).toBe(4)
  expect(failure()).toBe('no luck')
  order('one')
  await eventually(failure).toBeUndefined()
  order('broken')
  await eventually(() => attempts).toBe(5)
  expect(pauses).toEqual([500, 2_000, 500])
})

test('a job no longer counts as failing once a turn has waited a second without finding a request', async () => {
  const { start } = world()
  const { runtime, pauses } = pausesOf()
  let attempts = 0
  const runner = start(
    'a',
    async (turn) => {
      if (++attempts === 1) throw new Error('no luck')
      while (!turn.signal.aborted) await turn.nextRequest(1_000)
    },
    runtime,
  )
  await eventually(() => attempts).toBe(2)
  await eventually(() => (runner.report() as { failure?: string }).failure).toBeUndefined()
  expect(pauses).toEqual([500])
})

test('a process that has lost the job does not count as failing', async () => {
  const { broker, start } = world()
  const first = start('a', () => Promise.reject(new Error('no luck')))
  await eventually(() => (first.report() as { failure?: string }).failure).toBe('no luck')
  let isOwned = false
  broker.groups.expire(groupOf('clerk'), 'a')
  start('b', async (turn) => {
    isOwned = true
    while (!turn.signal.aborted) await turn.nextRequest(50)
  })
  await eventually(() => isOwned).toBe(true)
  await eventually(() => first.report()).toMatchObject({ owner: false, failure: undefined })
})

test('a turn that has lost the job can neither publish records, complete requests nor confirm that it owns the job', async () => {
  const { broker, start, order, reported } = world()
  let zombie: Turn | undefined
  let isOver = false
  start('a', async (turn) => {
    zombie ??= turn
    // This turn ignores the signal, like a process that was suspended for a while.
    while (!isOver) await new Promise((resolve) => setTimeout(resolve, 10))
  })
  onTestFinished(() => {
    isOver = true
  })
  await eventually(() => zombie).toBeDefined()
  order('one')
  const request = await zombie!.nextRequest(2_000)
  broker.groups.expire(groupOf('clerk'), 'a')
  start('b', clerk('b'))
  await eventually(reported).toEqual(['b one'])
  await expect(zombie!.publish(reports, 'key', { text: 'late' })).rejects.toThrow(FencedError)
  await expect(zombie!.completed(request!)).rejects.toThrow()
  await expect(zombie!.confirm()).rejects.toThrow()
  expect(reported()).toEqual(['b one'])
})

test('a process with an outdated assignment of the job does not fence the process that runs the job', async () => {
  const { broker, registry, start, order, reported } = world()
  const owner = start('b', clerk('b'))
  await eventually(() => owner.report()).toMatchObject({ owner: true, turns: 1 })
  order('one')
  await eventually(reported).toEqual(['b one'])
  const transport = memoryTransport(broker)
  const seat: SinkSeat = {
    ...loneSeat(transport, 'clerk', 'a'),
    take() {},
    assigned: () => ({ number: 1, partitions: new Map([['orders-0', { topic: 'orders', partition: 0 }]]), isFenced: false }),
    settle() {},
    confirmMembership: () => Promise.reject(new FencedError('the session timed out')),
  }
  const job: GroupJob<string, { text: string }> = { name: 'clerk', requests: orders, publishes: [reports], run: clerk('a') }
  const zombie = groupJob(job, { transport, registry, seat, runtime: systemRuntime() })
  void zombie.start()
  onTestFinished(() => zombie.stop())
  await eventually(() => (zombie.report() as { failure?: string }).failure).toBe('the session timed out')
  order('two')
  await eventually(reported).toEqual(['b one', 'b two'])
  expect(owner.report()).toMatchObject({ turns: 1, failure: undefined })
})

test('the signal of a turn fires when the process stops', async () => {
  const { start } = world()
  let signal: AbortSignal | undefined
  const runner = start('a', async (turn) => {
    signal = turn.signal
    while (!turn.signal.aborted) await turn.nextRequest(50)
  })
  await eventually(() => signal).toBeDefined()
  expect(signal!.aborted).toBe(false)
  await runner.stop()
  expect(signal!.aborted).toBe(true)
})

test('a turn reads the newest value of each key that earlier turns have published', async () => {
  const { start, order, reported } = world()
  const first = start('a', async (turn) => {
    const request = await turn.nextRequest(1_000)
    if (request === undefined) return
    await turn.publishAll([jobRecord(reports, 'x', { text: 'old' }), jobRecord(reports, 'y', { text: 'other' })])
    await turn.publish(reports, 'x', { text: 'new' })
    await turn.completed(request)
  })
  order('one')
  await eventually(reported).toEqual(['old', 'other', 'new'])
  await first.stop()
  let read: unknown
  start('b', async (turn) => {
    read = await turn.readAll(reports)
    while (!turn.signal.aborted) await turn.nextRequest(50)
  })
  await eventually(() => read).toEqual([
    ['x', { text: 'new' }],
    ['y', { text: 'other' }],
  ])
})

test('a turn that has lost the job cannot publish records with publishAll', async () => {
  const { broker, start, reported } = world()
  let zombie: Turn | undefined
  let isOver = false
  start('a', async (turn) => {
    zombie ??= turn
    while (!isOver) await new Promise((resolve) => setTimeout(resolve, 10))
  })
  onTestFinished(() => {
    isOver = true
  })
  await eventually(() => zombie).toBeDefined()
  broker.groups.expire(groupOf('clerk'), 'a')
  let isOwned = false
  start('b', async (turn) => {
    isOwned = true
    while (!turn.signal.aborted) await turn.nextRequest(50)
  })
  await eventually(() => isOwned).toBe(true)
  const late = [jobRecord(reports, 'x', { text: 'one' }), jobRecord(reports, 'y', { text: 'two' })]
  await expect(zombie!.publishAll(late)).rejects.toThrow(FencedError)
  expect(reported()).toEqual([])
})

test('if publishAll fails because of one of its records, later transactions do not contain the other records', async () => {
  const { start, reported } = world()
  let refusal: unknown
  start('a', async (turn) => {
    const records = [jobRecord(reports, 'x', { text: 'one' }), jobRecord(reports, 'y', { text: 2 } as never)]
    refusal ??= await turn.publishAll(records).catch((error: unknown) => error)
    await turn.publish(reports, 'z', { text: 'three' })
    while (!turn.signal.aborted) await turn.nextRequest(50)
  })
  await eventually(() => reported().length).toBeGreaterThan(0)
  expect(refusal).toBeInstanceOf(Error)
  expect(reported()).toEqual(['three'])
})

test('a turn finds all requests of a backlog without waiting for new ones', async () => {
  const { start, order } = world()
  const count = 250
  for (let number = 0; number < count; number++) order(`order ${number}`)
  const texts: string[] = []
  start('a', async (turn) => {
    while (!turn.signal.aborted) {
      // The poll timeout is longer than the deadline of the assertion below.
      const request = await turn.nextRequest(60_000)
      if (request === undefined) continue
      texts.push(request.value.text)
      await turn.completed(request)
    }
  })
  await eventually(() => texts).toEqual(Array.from({ length: count }, (_, number) => `order ${number}`))
})

test('if the membership in the group fails, the turn ends before the job is closed and the runner reports the failure', async () => {
  const { broker, registry } = world()
  const transport = memoryTransport(broker)
  const real = loneSeat(transport, 'clerk', 'a')
  let failure: Error | undefined
  const seat: SinkSeat = {
    ...real,
    assigned() {
      if (failure !== undefined) throw failure
      return real.assigned()
    },
  }
  const events: string[] = []
  const job: GroupJob<string, { text: string }> = {
    name: 'clerk',
    requests: orders,
    publishes: [reports],
    async run(turn) {
      events.push('begin')
      while (!turn.signal.aborted) await turn.nextRequest(50)
      events.push('end')
    },
    async close() {
      events.push('close')
    },
  }
  const runner = groupJob(job, { transport, registry, seat, runtime: systemRuntime() })
  const failed = runner.done.catch((error: unknown) => error)
  void runner.start()
  onTestFinished(() => runner.stop())
  await eventually(() => events).toEqual(['begin'])
  failure = new Error('not permitted')
  expect(await failed).toBe(failure)
  expect(events).toEqual(['begin', 'end', 'close'])
})

test('while the partition count of a topic is unknown, a turn publishes nothing and requests the count again', async () => {
  const { broker, registry } = world()
  broker.createTopic({ name: 'reports', partitions: 8 })
  const real = memoryTransport(broker)
  let isMissing = false
  const transport: Transport = {
    ...real,
    partitionCounts: async (topics) => (isMissing ? new Map() : real.partitionCounts(topics)),
  }
  const outcomes: string[] = []
  const job: GroupJob<string, { text: string }> = {
    name: 'clerk',
    requests: orders,
    publishes: [reports],
    async run(turn) {
      isMissing = true
      const note = (outcome: string) => void outcomes.push(outcome)
      await turn.publish(reports, 'a key', { text: 'one' }).then(
        () => note('published'),
        (error: Error) => note(error.message),
      )
      isMissing = false
      await turn.publish(reports, 'a key', { text: 'two' }).then(
        () => note('published'),
        (error: Error) => note(error.message),
      )
      while (!turn.signal.aborted) await turn.nextRequest(50)
    },
  }
  const runner = groupJob(job, { transport, registry, seat: loneSeat(transport, 'clerk', 'a'), runtime: systemRuntime() })
  void runner.start()
  onTestFinished(() => runner.stop())
  await eventually(() => outcomes).toEqual(['the brokers returned no metadata of the topic reports', 'published'])
  const own = partitionFor(Buffer.from('a key'), 8)
  expect(Array.from({ length: 8 }, (_, partition) => broker.log('reports', partition).read(0, 10).length)).toEqual(
    Array.from({ length: 8 }, (_, partition) => Number(partition === own)),
  )
})

test('a turn does not treat a topic as empty when a broker that has fallen behind does not know the topic', async () => {
  const { broker, registry, start, order, reported } = world()
  const first = start('a', clerk('a'))
  order('one')
  await eventually(reported).toEqual(['a one'])
  await first.stop()
  const real = memoryTransport(broker)
  let asked = 0
  const transport: Transport = {
    ...real,
    partitionCounts: async (topics) => (topics.length === 1 && ++asked === 1 ? new Map() : real.partitionCounts(topics)),
  }
  const read: unknown[] = []
  const job: GroupJob<string, { text: string }> = {
    name: 'clerk',
    requests: orders,
    publishes: [reports],
    async run(turn) {
      read.push(await turn.readAll(reports).catch((error: Error) => error.message))
      read.push(await turn.readAll(reports))
      while (!turn.signal.aborted) await turn.nextRequest(50)
    },
  }
  const runner = groupJob(job, { transport, registry, seat: loneSeat(transport, 'clerk', 'b'), runtime: systemRuntime() })
  void runner.start()
  onTestFinished(() => runner.stop())
  await eventually(() => read).toEqual(['the brokers returned no metadata of the topic reports', [['key', { text: 'a one' }]]])
})

test('a turn reads a topic to its end even if the topic has lost records since the turn requested the end', async () => {
  const { broker, start, order, reported } = world()
  const first = start('a', clerk('a'))
  order('one')
  await eventually(reported).toEqual(['a one'])
  await first.stop()
  const registry = memoryRegistry()
  const real = memoryTransport(broker)
  let asked = 0
  const transport: Transport = {
    ...real,
    async offsets(places, at) {
      const found = await real.offsets(places, at)
      // Simulates an unclean leader election: the first answer still counts five records that are then lost.
      if (at !== 'end' || places[0].topic !== 'reports' || ++asked > 1) return found
      return new Map([...found].map(([place, offset]) => [place, offset + 5]))
    },
  }
  let read: unknown
  const job: GroupJob<string, { text: string }> = {
    name: 'clerk',
    requests: orders,
    publishes: [reports],
    async run(turn) {
      read = await turn.readAll(reports)
      while (!turn.signal.aborted) await turn.nextRequest(50)
    },
  }
  const runner = groupJob(job, { transport, registry, seat: loneSeat(transport, 'clerk', 'b'), runtime: systemRuntime() })
  void runner.start()
  onTestFinished(() => runner.stop())
  await eventually(() => read).toEqual([['key', { text: 'a one' }]])
})
