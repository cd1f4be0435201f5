import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Fetcher, PartitionData, Transport } from '../../../../kafka/transport.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { sinkRunner } from '../../../../pipelines/engine/sinks/sink-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { avroValue } from '../../../../schemas/avro/value.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { groupOf, loneSeat } from './lone-seat.ts'
import { memoryTarget } from './memory-target.ts'

const PARTITIONS = 2
const schema = { type: 'record', name: 'Note', fields: [{ name: 'text', type: 'string' }] }
const notes: Topic<string, { text: string }> = { name: 'notes', key: utf8, value: avroValue(schema), partitions: PARTITIONS }

function world(limits: Parameters<typeof memoryTarget>[0] = {}) {
  const broker = memoryBroker()
  broker.createTopic({ name: 'notes', partitions: PARTITIONS })
  const registry = memoryRegistry()
  const memory = memoryTarget(limits)
  let written = 0

  function append(partition: number, count = 1): string[] {
    const texts = Array.from({ length: count }, () => `note ${written++}`)
    for (const text of texts) appendBytes(partition, noteBytes(text))
    return texts
  }

  function appendBytes(partition: number, value: Buffer | null, key: Buffer | null = Buffer.from('key')): void {
    broker.append('notes', partition, { timestamp: 5, key, value, headers: [] })
  }

  function appendAt(timestamp: number, text: string): void {
    broker.append('notes', 0, { timestamp, key: Buffer.from('key'), value: noteBytes(text), headers: [] })
  }

  function run(memberId = 'one', deadLetters = true, transport: Transport = memoryTransport(broker)): Sink {
    const seat = loneSeat(transport, 'copier', memberId)
    const sink = createSink(
      { name: 'copier', topics: [notes], deadLetters },
      { transport, registry, target: memory.target, seat, runtime: systemRuntime() },
    )
    sink.run().catch(() => {})
    onTestFinished(() => sink.stop())
    return sink
  }

  return { broker, registry, memory, append, appendBytes, appendAt, run, control: memory.control }
}

function noteBytes(text: string, schemaId = 1): Buffer {
  const out = byteWriter()
  notes.value.open(schemaId, { get: () => undefined }).encode({ text }, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

/** Age of the oldest records that a target needs, if it does not need the whole log. It outlasts every test. */
const RECENT_MS = 600_000
/** Time limit for a condition. It is generous, because the machine may be busy. */
const DEADLINE_MS = 4_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

const asValues = (texts: string[]) => texts.map((text) => ({ text }))

test('every record is copied once and in order, and the position is committed to the group', async () => {
  const { memory, append, run, broker } = world()
  const before = [append(0, 25), append(1, 3)]
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  const after = append(0, 12)
  await eventually(() => memory.values('notes-0')).toEqual(asValues([...before[0], ...after]))
  expect(memory.values('notes-1')).toEqual(asValues(before[1]))
  await eventually(() => broker.groups.committed('copier').get('notes-0')).toEqual({ offset: 37, metadata: 'memory' })
  expect(sink.metrics).toMatchObject({ applied: 40, rewinds: 0, retries: 0, badRecords: 0 })
  expect(sink.lanes()).toMatchObject([
    { topic: 'notes', partition: 0, state: 'running', position: 37, lag: 0, caughtUp: true },
    { topic: 'notes', partition: 1, state: 'running', position: 3, lag: 0, caughtUp: true },
  ])
})

test('a sink counts as caught up with an empty topic immediately', async () => {
  const { run, control } = world()
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  expect(control.caughtUp).toEqual(
    new Map([
      ['notes-0', true],
      ['notes-1', true],
    ]),
  )
})

test('a batch reports that the sink has caught up only if the batch reaches the end that the log had when reading began', async () => {
  const { run, control, append } = world()
  append(0, 25)
  run()
  await expect
    .poll(() => control.batches.filter(({ partition, records }) => partition.partition === 0 && records.length > 0))
    .toHaveLength(3)
  const flags = control.batches
    .filter(({ partition, records }) => partition.partition === 0 && records.length > 0)
    .map(({ caughtUp }) => caughtUp)
  expect(flags).toEqual([false, false, true])
})

test('a target that was unavailable counts as complete only when it has reached the end of the log again', async () => {
  const { run, control, append } = world()
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  control.down = true
  append(0, 25)
  await eventually(() => sink.metrics.retries).toBeGreaterThan(0)
  control.batches.length = 0
  control.down = false
  const filled = () => control.batches.filter(({ records }) => records.length > 0)
  await eventually(() => filled().reduce((sum, { records }) => sum + records.length, 0)).toBe(25)
  const times = filled().map(({ completeAt }) => completeAt)
  expect(times.slice(0, -1).filter((at) => at !== undefined)).toEqual([])
  expect(times.at(-1)).toEqual(expect.any(Number))
})

test('records of open transactions do not keep a target from counting as complete', async () => {
  const { run, control, append, broker } = world()
  const transport = memoryTransport(broker)
  function fetcher(...given: Parameters<typeof transport.fetcher>): Fetcher {
    const committed = transport.fetcher(...given)
    const withOpen = (data: PartitionData) => ({ ...data, highWatermark: data.highWatermark + 3 })
    return { ...committed, poll: async (...limits) => (await committed.poll(...limits)).map(withOpen) }
  }
  run('one', true, { ...transport, fetcher })
  append(0, 5)
  await eventually(() => control.batches.find(({ next }) => next === 5)?.completeAt).toEqual(expect.any(Number))
})

test('a target that needs only recent records is filled from the first record that is recent enough', async () => {
  const { run, memory, appendAt } = world({ neededMs: RECENT_MS })
  const now = Date.now()
  for (const text of ['old', 'older']) appendAt(now - 2 * RECENT_MS, text)
  appendAt(now, 'recent')
  // This record is also needed, because it follows a recent record in the log. Its own timestamp does not matter.
  appendAt(now - 2 * RECENT_MS, 'delayed')
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  expect(memory.values('notes-0')).toEqual(asValues(['recent', 'delayed']))
  memory.wipe()
  await eventually(() => memory.values('notes-0')).toEqual(asValues(['recent', 'delayed']))
})

test('a target that needs only recent records is filled from the end of the log if the log has no recent records', async () => {
  const { run, memory, appendAt } = world({ neededMs: RECENT_MS })
  appendAt(Date.now() - 2 * RECENT_MS, 'old')
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  appendAt(Date.now(), 'recent')
  await eventually(() => memory.values('notes-0')).toEqual(asValues(['recent']))
})

test('a target that needs only recent records, but already has a position, continues at this position and gets even old records', async () => {
  const { run, memory, appendAt } = world({ neededMs: RECENT_MS })
  appendAt(Date.now(), 'first')
  const before = run()
  await eventually(() => memory.values('notes-0')).toEqual(asValues(['first']))
  await before.stop()
  appendAt(Date.now() - 2 * RECENT_MS, 'old')
  run('two')
  await eventually(() => memory.values('notes-0')).toEqual(asValues(['first', 'old']))
})

test('tombstones reach the target', async () => {
  const { run, memory, appendBytes } = world()
  appendBytes(0, null)
  run()
  await eventually(() => memory.values('notes-0')).toEqual([null])
})

test('a restarted sink continues at the position of the target, even if the group has no offset', async () => {
  const { memory, append, run, broker, control } = world()
  const first = append(0, 5)
  const sink = run()
  await eventually(() => memory.next('notes-0')).toBe(5)
  await sink.stop()
  broker.groups.forgetOffsets('copier')
  const second = append(0, 5)
  control.batches.length = 0
  run()
  await eventually(() => memory.values('notes-0')).toEqual(asValues([...first, ...second]))
  expect(control.batches.flatMap((batch) => batch.records)).toHaveLength(5)
})

test('no record is lost while a target is down', async () => {
  const { memory, append, run, control } = world()
  control.down = true
  const sink = run()
  const early = append(0, 30)
  await eventually(() => sink.metrics.retries).toBeGreaterThan(2)
  control.down = false
  await eventually(() => memory.values('notes-0')).toEqual(asValues(early))
  await eventually(() => sink.isReady).toBe(true)
  control.down = true
  const late = append(0, 30)
  const before = sink.metrics.retries
  await eventually(() => sink.metrics.retries).toBeGreaterThan(before + 2)
  expect(sink.isReady).toBe(true)
  control.down = false
  await eventually(() => memory.values('notes-0')).toEqual(asValues([...early, ...late]))
})

test('a write whose response is lost is not applied twice', async () => {
  const { memory, append, run, control } = world()
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  control.loseAnswers = 2
  const texts = append(0, 30)
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts))
  expect(sink.metrics.rewinds).toBe(0)
})

test('a target that was emptied is filled again from the beginning, even while the topic is silent', async () => {
  const { memory, append, run } = world()
  const texts = [append(0, 25), append(1, 5)]
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  memory.wipe()
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts[0]))
  await eventually(() => memory.values('notes-1')).toEqual(asValues(texts[1]))
  await eventually(() => sink.isReady).toBe(true)
  expect(sink.metrics.rewinds).toBe(2)
})

test('the sink is not ready while its target is being filled again', async () => {
  const { memory, append, run, control } = world()
  append(0, 25)
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  let open = () => {}
  control.gate = new Promise((resolve) => {
    open = resolve
  })
  memory.wipe()
  await eventually(() => sink.isReady).toBe(false)
  control.gate = undefined
  open()
  await eventually(() => sink.isReady).toBe(true)
})

test('a target that was reset to an older state is filled again starting from that state', async () => {
  const { memory, append, run, control } = world()
  const texts = append(0, 25)
  const sink = run()
  await eventually(() => memory.next('notes-0')).toBe(25)
  control.batches.length = 0
  memory.goBack('notes-0', 20)
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts))
  expect(control.batches.flatMap((batch) => batch.records.map(({ offset }) => offset))).toEqual([20, 21, 22, 23, 24])
  expect(sink.metrics.rewinds).toBe(1)
})

test('records that the log no longer has are counted as lost, and reading continues', async () => {
  const { broker, memory, append, run } = world()
  append(0, 10)
  const first = run()
  await eventually(() => memory.next('notes-0')).toBe(10)
  await first.stop()
  const later = append(0, 10)
  broker.log('notes', 0).truncateBefore(14)
  const sink = run()
  await eventually(() => memory.next('notes-0')).toBe(20)
  expect(memory.values('notes-0').slice(10)).toEqual(asValues(later.slice(4)))
  expect(sink.metrics.lostRecords).toBe(4)
})

test('records that retention deletes while the target is unavailable are counted as lost', async () => {
  const { broker, memory, append, appendBytes, run, control } = world({ maxRecords: 1_000 })
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  control.down = true
  const large = noteBytes('x'.repeat(1_000_000))
  for (let record = 0; record < 8; record++) appendBytes(0, large)
  await eventually(() => sink.lanes()[0].queuedBytes).toBeGreaterThan(4_000_000)
  append(0, 10)
  broker.log('notes', 0).truncateBefore(15)
  control.down = false
  await eventually(() => memory.next('notes-0')).toBe(18)
  expect(sink.metrics.lostRecords).toBeGreaterThanOrEqual(7)
  expect(sink.metrics.lostRecords + memory.values('notes-0').length).toBe(18)
})

test('records that cannot be decoded become dead letters, and the target gets all other records', async () => {
  const { broker, memory, append, appendBytes, run } = world()
  const good = append(0)
  appendBytes(0, Buffer.from([0, 0, 0, 0, 1, 200]))
  appendBytes(0, noteBytes('no key'), null)
  appendBytes(0, noteBytes('bad key'), Buffer.from([0xff]))
  appendBytes(0, noteBytes('unknown schema', 99))
  const more = append(0)
  const sink = run()
  await eventually(() => memory.values('notes-0')).toEqual(asValues([...good, ...more]))
  const letters = broker.records('copier-dead-letters').map(({ headers, value }) => ({
    code: headers.find(({ key }) => key === 'dead-letter.code')?.value?.toString(),
    source: headers.find(({ key }) => key === 'dead-letter.offset')?.value?.toString(),
    bytes: value?.length,
  }))
  expect(letters).toEqual([
    { code: 'undecodable_value', source: '1', bytes: 6 },
    { code: 'no_key', source: '2', bytes: noteBytes('no key').length },
    { code: 'undecodable_key', source: '3', bytes: noteBytes('bad key').length },
    { code: 'unknown_schema', source: '4', bytes: noteBytes('unknown schema').length },
  ])
  // Polls, because the sink counts records only after the target has stored them.
  await eventually(() => sink.metrics).toMatchObject({ applied: 2, badRecords: 4 })
})

test('without a dead-letter topic, records that cannot be decoded are only counted', async () => {
  const { broker, memory, appendBytes, run } = world()
  appendBytes(0, Buffer.from('garbage'))
  const sink = run('one', false)
  await eventually(() => memory.next('notes-0')).toBe(1)
  await eventually(() => sink.metrics.badRecords).toBe(1)
  expect(broker.topics()).toEqual(['notes'])
})

test('a sink loads the schema of another writer, and if the registry is unavailable, the partition waits without losing records', async () => {
  const { registry, memory, append, appendBytes, run } = world()
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  const widened = { ...schema, fields: [...schema.fields, { name: 'more', type: 'int' }] }
  const id = await registry.register('elsewhere', JSON.stringify(widened))
  const out = byteWriter()
  avroValue(widened)
    .open(id, { get: () => undefined })
    .encode({ text: 'wide', more: 1 }, out)
  registry.unreachable = true
  const before = append(0)
  appendBytes(0, Buffer.from(out.buffer.subarray(0, out.length)))
  const after = append(0)
  await eventually(() => sink.metrics.retries).toBeGreaterThan(2)
  expect(memory.values('notes-0')).toEqual(asValues(before))
  registry.unreachable = false
  await eventually(() => memory.values('notes-0')).toEqual(asValues([...before, 'wide', ...after]))
  expect(sink.metrics.badRecords).toBe(0)
})

test('two sinks share the partitions, and a partition that moves continues at its position', async () => {
  const { broker, memory, append, run } = world()
  const texts = [append(0, 15), append(1, 15)]
  const one = run('one')
  await eventually(() => one.lanes().length).toBe(2)
  const two = run('two')
  await eventually(() => [one.lanes().length, two.lanes().length]).toEqual([1, 1])
  texts[0].push(...append(0, 15))
  texts[1].push(...append(1, 15))
  await eventually(() => [memory.values('notes-0'), memory.values('notes-1')]).toEqual(texts.map(asValues))
  await one.stop()
  expect(broker.groups.members(groupOf('copier'))).toEqual(['two'])
  await eventually(() => two.lanes().length).toBe(2)
  texts[0].push(...append(0))
  texts[1].push(...append(1))
  await eventually(() => [memory.values('notes-0'), memory.values('notes-1')]).toEqual(texts.map(asValues))
  expect(one.metrics.rewinds + two.metrics.rewinds).toBe(0)
})

test('a partition is released only after its write in flight has ended', async () => {
  const { broker, append, run, control } = world()
  const one = run('one')
  await eventually(() => one.isReady).toBe(true)
  let open = () => {}
  control.gate = new Promise((resolve) => {
    open = resolve
  })
  append(1, 5)
  await eventually(() => control.waiting).toBeGreaterThan(0)
  const two = run('two')
  await eventually(() => one.lanes().map(({ state }) => state)).toContain('closing')
  expect(broker.groups.owned(groupOf('copier'), 'one')).toHaveLength(2)
  expect(two.lanes().length).toBe(0)
  control.gate = undefined
  open()
  await eventually(() => two.lanes().length).toBe(1)
  expect(broker.groups.committed('copier').get('notes-1')?.offset).toBe(5)
})

test('a fenced sink drops its partitions, rejoins and continues', async () => {
  const { broker, memory, append, run } = world()
  const texts = append(0, 5)
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  broker.groups.expire(groupOf('copier'), 'one')
  texts.push(...append(0, 5))
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts))
  await eventually(() => broker.groups.members(groupOf('copier'))).toEqual(['one'])
  texts.push(...append(0, 5))
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts))
  await eventually(() => sink.isReady).toBe(true)
})

test('on a permanent error of the target, the sink leaves its group and fails with that error', async () => {
  const { append, run, control, broker } = world()
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  control.failure = new Error('WRONGTYPE')
  append(0)
  await expect(sink.run()).rejects.toThrow('WRONGTYPE')
  expect(broker.groups.members(groupOf('copier'))).toEqual([])
})

test('a batch that is not full waits for more records only until its maximum wait has passed', async () => {
  const { append, run, control } = world({ lingerMs: 100, maxRecords: 5 })
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  control.batches.length = 0
  const isFilled = ({ records }: { records: readonly unknown[] }) => records.length > 0
  append(0)
  append(0)
  await eventually(() => control.batches.filter(isFilled).map(({ records }) => records.length)).toEqual([2])
  append(0, 7)
  await eventually(() => control.batches.filter(isFilled).map(({ records }) => records.length)).toEqual([2, 5, 2])
})

test('while a sink collects a batch, its loop pauses between polls, even if a probe is overdue', async () => {
  const { append, run, control, broker } = world({ lingerMs: 500 })
  const transport = memoryTransport(broker)
  let polls = 0
  function fetcher(...given: Parameters<typeof transport.fetcher>): Fetcher {
    const plain = transport.fetcher(...given)
    return { ...plain, poll: (...limits) => plain.poll(...limits).finally(() => polls++) }
  }
  const sink = run('one', true, { ...transport, fetcher })
  await eventually(() => sink.isReady).toBe(true)
  polls = 0
  append(0)
  await eventually(() => control.batches.some(({ records }) => records.length > 0)).toBe(true)
  expect(polls).toBeLessThan(200)
})

test('while a write to a partition waits, the sink stops fetching only that partition', async () => {
  const { append, appendBytes, run, control, memory } = world({ maxRecords: 1_000 })
  const sink = run()
  await eventually(() => sink.isReady).toBe(true)
  let open = () => {}
  control.gate = new Promise((resolve) => {
    open = resolve
  })
  const large = noteBytes('x'.repeat(1_000_000))
  appendBytes(0, large)
  await eventually(() => control.waiting).toBe(1)
  for (let round = 0; round < 20; round++) {
    appendBytes(0, large)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => sink.lanes()[0].queuedBytes).toBeGreaterThan(4_000_000)
  const held = sink.lanes()[0].queuedBytes
  appendBytes(0, large)
  const others = append(1)
  control.gate = undefined
  await eventually(() => memory.values('notes-1')).toEqual(asValues(others))
  expect(sink.lanes()[0].queuedBytes).toBe(held)
  open()
  await eventually(() => memory.next('notes-0')).toBe(22)
  expect(sink.lanes()[0].queuedBytes).toBe(0)
})

test('a sink that cannot join its group can be stopped', async () => {
  const { registry, memory, broker } = world()
  const transport = memoryTransport(broker)
  let leave = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const stuck = {
    ...transport,
    groupMember: (options: Parameters<typeof transport.groupMember>[0]) => ({
      ...transport.groupMember(options),
      join: () => left,
      leave: async () => leave(),
    }),
  }
  const seat = loneSeat(stuck, 'copier', 'one')
  const sink = createSink(
    { name: 'copier', topics: [notes] },
    { transport: stuck, registry, target: memory.target, seat, runtime: systemRuntime() },
  )
  const running = sink.run()
  await new Promise((resolve) => setImmediate(resolve))
  expect(sink.isReady).toBe(false)
  await sink.stop()
  await running
})

test('a sink stops even if the brokers are unavailable and never respond to its last commit', async () => {
  const { registry, memory, broker, append } = world()
  const transport = memoryTransport(broker)
  const left = Promise.withResolvers<void>()
  const away = {
    ...transport,
    memberlessGroup: (groupId: string) => ({
      ...transport.memberlessGroup(groupId),
      commit: () => left.promise,
      close: async () => left.resolve(),
    }),
  }
  const options = { name: 'copier', topics: [notes], stopGraceMs: 10 }
  const seat = loneSeat(away, 'copier', 'one')
  const runner = sinkRunner(
    {
      name: 'copier',
      create: async () => createSink(options, { transport: away, registry, target: memory.target, seat, runtime: systemRuntime() }),
      async close() {},
    },
    systemRuntime(),
  )
  await runner.start()
  const texts = append(0, 3)
  await eventually(() => memory.values('notes-0')).toEqual(asValues(texts))
  await runner.stop()
  await runner.done
})

test('a sink that does not stop in time is abandoned by its runner, and its connections are closed once', async () => {
  let closed = 0
  const stuck = { run: () => new Promise(() => {}), stop: async () => {} } as unknown as Sink
  const close = async () => void closed++
  const runner = sinkRunner({ name: 'stuck', create: async () => stuck, close }, systemRuntime())
  await runner.start()
  await runner.stop()
  await runner.done
  expect(closed).toBe(1)
})
