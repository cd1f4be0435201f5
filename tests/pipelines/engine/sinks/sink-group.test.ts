import { expect, onTestFinished, test } from 'vitest'
import { type MemoryBroker, memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { GroupMember, Transport } from '../../../../kafka/transport.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { type SinkGroup, sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { memoryTarget } from './memory-target.ts'

const PARTITIONS = 2
/**
 * Grace period of a stopping sink. It is short because a stopping sink waits for its writes, and some writes in these
 * tests never end.
 */
const STOP_GRACE_MS = 200
const runtime = systemRuntime()
/** Time limit for a condition. It is generous, because the machine may be busy. */
const DEADLINE_MS = 60_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

function topicOf(name: string): Topic<string, string> {
  return { name, key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
}

function world(...topics: string[]) {
  const broker = memoryBroker()
  for (const name of topics) broker.createTopic({ name, partitions: PARTITIONS })
  const append = (topic: string, partition: number, value: string) =>
    broker.append(topic, partition, { timestamp: 5, key: Buffer.from('key'), value: Buffer.from(value), headers: [] })
  return { broker, append }
}

function groupIn(broker: MemoryBroker, memberId: string, groupId = 'shared', transport: Transport = memoryTransport(broker)): SinkGroup {
  return sinkGroup({ groupId, memberId }, { transport, runtime })
}

/** Creates a sink of some topics in a group, without starting it. */
function sinkIn(group: SinkGroup, broker: MemoryBroker, name: string, topics: readonly string[], memory = memoryTarget()): Sink {
  const deps = { transport: memoryTransport(broker), registry: memoryRegistry(), target: memory.target, seat: group.seat(), runtime }
  return createSink({ name, topics: topics.map(topicOf), stopGraceMs: STOP_GRACE_MS }, deps)
}

function start(...sinks: Sink[]): void {
  for (const sink of sinks) {
    sink.run().catch(() => {})
    onTestFinished(() => sink.stop())
  }
}

const partitionsOf = (sink: Sink) =>
  sink
    .lanes()
    .map(({ topic, partition }) => `${topic}-${partition}`)
    .sort()

test('the sinks of one process share a group member, and each sink copies its own topics and commits under its own name', async () => {
  const { broker, append } = world('a', 'b')
  const group = groupIn(broker, 'one')
  const [ofA, ofB] = [memoryTarget(), memoryTarget()]
  const sinks = [sinkIn(group, broker, 'sink-a', ['a'], ofA), sinkIn(group, broker, 'sink-b', ['b'], ofB)]
  start(...sinks)
  append('a', 0, 'for a')
  append('b', 1, 'for b')
  await eventually(() => ofA.values('a-0')).toEqual(['for a'])
  await eventually(() => ofB.values('b-1')).toEqual(['for b'])
  expect(broker.groups.members('shared')).toEqual(['one'])
  expect(broker.groups.members('sink-a')).toEqual([])
  await eventually(() => broker.groups.committed('sink-a').get('a-0')).toEqual({ offset: 1, metadata: 'memory' })
  await eventually(() => broker.groups.committed('sink-b').get('b-1')).toEqual({ offset: 1, metadata: 'memory' })
  expect(broker.groups.committed('shared').size).toBe(0)
})

test('two sinks of one topic both get all records, and a slow sink does not delay the commits of the other', async () => {
  const { broker, append } = world('a')
  const group = groupIn(broker, 'one')
  const [fast, slow] = [memoryTarget(), memoryTarget()]
  const open = Promise.withResolvers<void>()
  slow.control.gate = open.promise
  start(sinkIn(group, broker, 'fast', ['a'], fast), sinkIn(group, broker, 'slow', ['a'], slow))
  append('a', 0, 'first')
  await eventually(() => slow.control.waiting).toBe(1)
  append('a', 0, 'second')
  await eventually(() => fast.values('a-0')).toEqual(['first', 'second'])
  await eventually(() => broker.groups.committed('fast').get('a-0')?.offset).toBe(2)
  expect(broker.groups.committed('slow').get('a-0')).toBeUndefined()
  slow.control.gate = undefined
  open.resolve()
  await eventually(() => slow.values('a-0')).toEqual(['first', 'second'])
})

test('processes that run different services share a group, and each process gets only partitions of topics that its sinks read', async () => {
  const { broker } = world('a', 'b', 'c')
  const [here, there] = [groupIn(broker, 'here'), groupIn(broker, 'there')]
  const both = sinkIn(here, broker, 'sink-a', ['a'])
  const onlyHere = sinkIn(here, broker, 'sink-b', ['b'])
  const bothToo = sinkIn(there, broker, 'sink-a', ['a'])
  const onlyThere = sinkIn(there, broker, 'sink-c', ['c'])
  start(both, onlyHere, bothToo, onlyThere)
  await eventually(() => [both.lanes().length, bothToo.lanes().length]).toEqual([1, 1])
  await eventually(() => partitionsOf(onlyHere)).toEqual(['b-0', 'b-1'])
  await eventually(() => partitionsOf(onlyThere)).toEqual(['c-0', 'c-1'])
  await eventually(() => [both, onlyHere, bothToo, onlyThere].every((sink) => sink.isReady)).toBe(true)
})

test('a target that never answers does not delay the hand-over of the partitions of other targets', async () => {
  const { broker, append } = world('a', 'b')
  const [views, tables] = [groupIn(broker, 'one', 'views'), groupIn(broker, 'one', 'tables')]
  const hanging = memoryTarget()
  hanging.control.gate = new Promise(() => {})
  const view = sinkIn(views, broker, 'view', ['a'])
  const table = sinkIn(tables, broker, 'table', ['b'], hanging)
  start(view, table)
  append('b', 1, 'never written')
  await eventually(() => hanging.control.waiting).toBe(1)
  await eventually(() => view.isReady).toBe(true)

  const viewThere = sinkIn(groupIn(broker, 'two', 'views'), broker, 'view', ['a'])
  const tableThere = sinkIn(groupIn(broker, 'two', 'tables'), broker, 'table', ['b'], hanging)
  start(viewThere, tableThere)
  await eventually(() => partitionsOf(viewThere)).toEqual(['a-1'])
  await eventually(() => viewThere.isReady).toBe(true)
  // The partition with a write in flight has not moved.
  await eventually(() => table.lanes().map(({ state }) => state)).toContain('closing')
  expect(broker.groups.owned('tables', 'one')).toHaveLength(PARTITIONS)
  expect(tableThere.lanes()).toEqual([])
})

test('a partition moves to another process only when every sink of its process has released it', async () => {
  const { broker, append } = world('a')
  const slow = memoryTarget()
  const open = Promise.withResolvers<void>()
  const group = groupIn(broker, 'one')
  const [first, second] = [sinkIn(group, broker, 'fast', ['a']), sinkIn(group, broker, 'slow', ['a'], slow)]
  start(first, second)
  await eventually(() => first.isReady && second.isReady).toBe(true)
  slow.control.gate = open.promise
  append('a', 1, 'takes long')
  await eventually(() => slow.control.waiting).toBe(1)
  const there = groupIn(broker, 'two')
  const [firstThere, secondThere] = [sinkIn(there, broker, 'fast', ['a']), sinkIn(there, broker, 'slow', ['a'], slow)]
  start(firstThere, secondThere)
  await eventually(() => partitionsOf(first)).toEqual(['a-0'])
  expect(broker.groups.owned('shared', 'one')).toHaveLength(PARTITIONS)
  expect(firstThere.lanes()).toEqual([])
  slow.control.gate = undefined
  open.resolve()
  await eventually(() => [partitionsOf(firstThere), partitionsOf(secondThere)]).toEqual([['a-1'], ['a-1']])
  expect(broker.groups.committed('slow').get('a-1')?.offset).toBe(1)
})

test('a fenced member releases the partitions of all its sinks and rejoins', async () => {
  const { broker, append } = world('a', 'b')
  const group = groupIn(broker, 'one')
  const [ofA, ofB] = [memoryTarget(), memoryTarget()]
  const sinks = [sinkIn(group, broker, 'sink-a', ['a'], ofA), sinkIn(group, broker, 'sink-b', ['b'], ofB)]
  start(...sinks)
  await eventually(() => sinks.every((sink) => sink.isReady)).toBe(true)
  broker.groups.expire('shared', 'one')
  append('a', 0, 'after')
  append('b', 0, 'after')
  await eventually(() => [ofA.values('a-0'), ofB.values('b-0')]).toEqual([['after'], ['after']])
  await eventually(() => broker.groups.members('shared')).toEqual(['one'])
  await eventually(() => sinks.every((sink) => sink.isReady)).toBe(true)
})

test('a sink that stops releases only partitions that no other sink reads, and the member leaves with the last sink', async () => {
  const { broker } = world('a', 'b')
  const [group, there] = [groupIn(broker, 'one'), groupIn(broker, 'two')]
  const [ofBoth, ofB] = [sinkIn(group, broker, 'both', ['a']), sinkIn(group, broker, 'sink-b', ['b'])]
  const ofBThere = sinkIn(there, broker, 'sink-b', ['b'])
  start(ofBoth, ofB, ofBThere)
  await eventually(() => [ofB.lanes().length, ofBThere.lanes().length]).toEqual([1, 1])
  await ofB.stop()
  await eventually(() => partitionsOf(ofBThere)).toEqual(['b-0', 'b-1'])
  expect(partitionsOf(ofBoth)).toEqual(['a-0', 'a-1'])
  await ofBoth.stop()
  expect(broker.groups.members('shared')).toEqual(['two'])
})

test('when a sink fails, the other sinks keep their partitions', async () => {
  const { broker, append } = world('a', 'b')
  const group = groupIn(broker, 'one')
  const broken = memoryTarget()
  const [good, bad] = [sinkIn(group, broker, 'good', ['a']), sinkIn(group, broker, 'bad', ['b'], broken)]
  start(good, bad)
  await eventually(() => good.isReady && bad.isReady).toBe(true)
  broken.control.failure = new Error('WRONGTYPE')
  append('b', 0, 'never')
  await expect(bad.run()).rejects.toThrow('WRONGTYPE')
  await eventually(() => broker.groups.owned('shared', 'one')).toEqual(['a-0', 'a-1'])
  expect(good.isReady).toBe(true)
})

test('the member joins once, after all its sinks have started', async () => {
  const { broker } = world('a', 'b')
  const joins: (readonly string[])[] = []
  const transport = memoryTransport(broker)
  const observed: Transport = {
    ...transport,
    groupMember(options) {
      joins.push(options.topics)
      return transport.groupMember(options)
    },
  }
  const group = groupIn(broker, 'one', 'shared', observed)
  const [first, second] = [sinkIn(group, broker, 'sink-a', ['a']), sinkIn(group, broker, 'sink-b', ['b'])]
  start(first)
  await new Promise((resolve) => setImmediate(resolve))
  expect(joins).toEqual([])
  start(second)
  await eventually(() => first.isReady && second.isReady).toBe(true)
  expect(joins).toEqual([['a', 'b']])
})

test('a sink that starts late gets its own partitions, and the other sinks keep theirs', async () => {
  const { broker } = world('a', 'b')
  const group = groupIn(broker, 'one')
  const [first, late] = [sinkIn(group, broker, 'sink-a', ['a']), sinkIn(group, broker, 'sink-b', ['b'])]
  start(first)
  await eventually(() => first.isReady).toBe(true)
  start(late)
  await eventually(() => partitionsOf(late)).toEqual(['b-0', 'b-1'])
  expect(partitionsOf(first)).toEqual(['a-0', 'a-1'])
})

/** Simulates a process of the earlier version, in which each sink joined a group that had the name of the sink. */
async function formerVersion(broker: MemoryBroker, sink: string, topic: string): Promise<GroupMember> {
  const member = memoryTransport(broker).groupMember({ groupId: sink, memberId: 'former', topics: [topic] })
  await member.join()
  const event = member.takeEvent()
  if (event?.type !== 'assignment') throw new Error('the first event is not an assignment')
  member.acknowledge(event.partitions)
  return member
}

test('partitions that an earlier version owns stay with that version, and are later taken over at the offset where it stopped', async () => {
  const { broker, append } = world('a')
  const memory = memoryTarget()
  const former = await formerVersion(broker, 'sink-a', 'a')
  append('a', 0, 'left to the earlier version')
  const sink = sinkIn(groupIn(broker, 'one'), broker, 'sink-a', ['a'], memory)
  start(sink)
  // Meanwhile, the sink counts as ready, because an upgrade may stop the old process only after the new process is
  // ready.
  await eventually(() => sink.isReady).toBe(true)
  expect(memory.control.opened).toEqual([])
  await former.commit(new Map([['a-0', { topic: 'a', partition: 0, offset: 1, metadata: 'memory' }]]))
  await former.leave()
  await eventually(() => sink.lanes().map(({ state }) => state)).toEqual(['running', 'running'])
  expect(memory.control.facts.get('a-0')?.committed).toEqual({ offset: 1, metadata: 'memory' })
})

test('an earlier version that starts while a sink is running gets the partitions, and nothing is written twice', async () => {
  const { broker, append } = world('a')
  const memory = memoryTarget()
  const table = { ...memory, target: { ...memory.target, confirmsOwnership: true, probeEveryMs: undefined } }
  const sink = sinkIn(groupIn(broker, 'one'), broker, 'sink-a', ['a'], table)
  start(sink)
  append('a', 0, 'before')
  await eventually(() => memory.values('a-0')).toEqual(['before'])
  await eventually(() => broker.groups.committed('sink-a').get('a-0')?.offset).toBe(1)

  const former = await formerVersion(broker, 'sink-a', 'a')
  append('a', 0, 'meanwhile')
  await eventually(() => sink.lanes()[0].state).toBe('opening')
  expect(memory.values('a-0')).toEqual(['before'])
  await former.leave()
  await eventually(() => memory.values('a-0')).toEqual(['before', 'meanwhile'])
})
