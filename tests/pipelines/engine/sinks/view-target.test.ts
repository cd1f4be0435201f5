import { expect, test } from 'vitest'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { decimalInt, utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { TargetUnavailableError } from '../../../../state/unavailable.ts'
import type { ViewBatch, ViewPosition, ViewStore } from '../../../../state/views/apply.ts'
import type { View } from '../../../../state/views/view.ts'

const HOUR_MS = 3_600_000
const NOW = 1_000 * HOUR_MS
const view: View<number, string> = {
  name: 'things',
  operationsFor: (partition, key, value) =>
    value === null ? [{ op: 'del', key: `{things:${partition}}:${key}` }] : [{ op: 'set', key: `{things:${partition}}:${key}`, value }],
}
const partition = { topic: 'facts', partition: 3 }
const facts = { start: 0, end: 50, committed: undefined, topicId: 'id', isBeyondEnd: async (offset: number) => offset > 50 }

function topic(name: string, config: Record<string, string>): Topic<number, string> {
  return { name, key: decimalInt, value: rawValue(utf8), partitions: 4, config }
}

function world(config: Record<string, string> = {}, shown = view) {
  const batches: ViewBatch[] = []
  const cleared: string[] = []
  const finished: string[] = []
  const state = {
    stored: undefined as ViewPosition | undefined,
    position: undefined as number | undefined,
    applied: true,
    down: false,
    held: new Map<string, string>(),
  }
  const store: ViewStore = {
    async apply(batch) {
      if (state.down) throw new TargetUnavailableError('unavailable')
      batches.push(batch)
      return state.applied ? { applied: true } : { applied: false, position: state.position }
    },
    async position() {
      if (state.down) throw new TargetUnavailableError('unavailable')
      return state.stored
    },
    async read(keys) {
      return keys.map((key) => state.held.get(key) ?? null)
    },
    async clear(name, of) {
      cleared.push(`${name} ${of}`)
    },
    async finishClearing(name, of) {
      finished.push(`${name} ${of}`)
    },
  }
  const topics = [topic('facts', config), topic('others', {})]
  const runtime = manualRuntime({ startAt: NOW })
  const target = viewTarget({ view: shown, topics }, { store, runtime })
  return { target, state, batches, cleared, finished, runtime }
}

const record = (offset: number, value: string | null) => ({ offset, timestamp: 0, key: offset, value })

test('the target passes a batch to the view store as operations, together with the offsets of the batch and all topics of the view', async () => {
  const { target, batches } = world()
  const batch = { partition, records: [record(4, 'a'), record(5, null)], expected: 4, next: 6, caughtUp: true, completeAt: NOW - 1 }
  expect(await target.prepare(batch)()).toEqual({ outcome: 'applied' })
  expect(batches).toEqual([
    {
      view: 'things',
      partition: 3,
      topic: 'facts',
      viewTopics: ['facts', 'others'],
      expected: 4,
      next: 6,
      operations: [
        { op: 'set', key: '{things:3}:4', value: 'a' },
        { op: 'del', key: '{things:3}:5' },
      ],
      caughtUp: true,
      completeAt: NOW - 1,
      now: NOW,
    },
  ])
})

test('for a deletion, `operationsFor` receives the value that the view holds for the key, including changes by the same batch', async () => {
  const seen: [key: number, held: string | null | undefined][] = []
  const key = (id: number) => `{things:3}:${id}`
  const deleting: View<number, string> = {
    name: 'things',
    operationsFor(_partition, id, value, context) {
      if (value !== null) return [{ op: 'set', key: key(id), value }]
      seen.push([id, context?.held])
      return [{ op: 'del', key: key(id) }]
    },
    heldKey: (_partition, id, value) => (value === null ? key(id) : undefined),
  }
  const { target, state } = world({}, deleting)
  state.held = new Map([1, 2, 3].map((id) => [key(id), `stored ${id}`]))
  const records = [record(1, null), record(2, 'written'), record(2, null), record(3, null), record(3, null), record(4, null)]
  await target.prepare({ partition, records, expected: 1, next: 7, caughtUp: false })()
  expect(seen).toEqual([
    [1, 'stored 1'],
    [2, 'written'],
    [3, 'stored 3'],
    [3, null],
    [4, null],
  ])
})

test('if the store does not apply a batch, the batch counts as applied if the view already contains it, and otherwise as a mismatch', async () => {
  const { target, state } = world()
  state.applied = false
  const write = target.prepare({ partition, records: [], expected: 4, next: 6, caughtUp: false })
  for (const [position, outcome] of [
    [6, 'applied'],
    [5, 'offset-mismatch'],
    [7, 'offset-mismatch'],
    [undefined, 'offset-mismatch'],
  ] as const) {
    state.position = position
    expect(await write()).toEqual({ outcome })
  }
})

test('a probe of a view that has lost its data reports an offset mismatch', async () => {
  const { target, state } = world()
  Object.assign(state, { applied: false, position: undefined })
  expect(await target.prepare({ partition, records: [], expected: 6, next: 6, caughtUp: false })()).toEqual({ outcome: 'offset-mismatch' })
})

test('while Redis is unavailable, opening and writing fail with the error that makes the sink retry', async () => {
  const { target, state } = world()
  state.down = true
  await expect(target.open(partition, facts)).rejects.toThrow(TargetUnavailableError)
  await expect(target.prepare({ partition, records: [], expected: 4, next: 6, caughtUp: false })()).rejects.toThrow(TargetUnavailableError)
})

test('a sink continues reading at the position of the view', async () => {
  const { target, state, cleared } = world()
  expect(await target.open(partition, facts)).toBeUndefined()
  state.stored = { next: 50, at: 0 }
  expect(await target.open(partition, facts)).toBe(50)
  expect(cleared).toEqual([])
})

test('an interrupted clearing is completed before the view is filled', async () => {
  const { target, state, finished } = world()
  expect(await target.open(partition, facts)).toBeUndefined()
  expect(finished).toEqual(['things 3'])
  state.stored = { next: 50, at: 0 }
  await target.open(partition, facts)
  expect(finished).toEqual(['things 3'])
})

test('a view that is ahead of its log counts as the view of another log, so it is cleared and rebuilt', async () => {
  const { target, state, cleared } = world()
  state.stored = { next: 51, at: NOW }
  expect(await target.open(partition, facts)).toBeUndefined()
  expect(cleared).toEqual(['things 3'])
})

test('a view of a topic that was deleted and created again is rebuilt, even if the new log is longer', async () => {
  const { target, state, batches, cleared } = world()
  state.stored = { next: 5, at: NOW, topicId: 'id' }
  expect(await target.open(partition, facts)).toBe(5)
  await target.prepare({ partition, records: [], expected: 5, next: 6, caughtUp: false })()
  expect(batches).toMatchObject([{ topic: 'facts', topicId: 'id' }])
  expect(await target.open(partition, { ...facts, topicId: '' })).toBe(5)
  expect(cleared).toEqual([])
  expect(await target.open(partition, { ...facts, topicId: 'another' })).toBeUndefined()
  expect(cleared).toEqual(['things 3'])
})

test('a view of a compacted topic is rebuilt if the time at which it was last complete is more than an hour in the future', async () => {
  const { target, state, cleared } = world({ 'cleanup.policy': 'compact' })
  state.stored = { next: 5, at: NOW + HOUR_MS }
  expect(await target.open(partition, facts)).toBe(5)
  state.stored = { next: 5, at: NOW + HOUR_MS + 1 }
  expect(await target.open(partition, facts)).toBeUndefined()
  expect(cleared).toEqual(['things 3'])
})

test('a view of a compacted topic is rebuilt if it was last complete longer ago than the retention of tombstones', async () => {
  const usual = world({ 'cleanup.policy': 'compact' })
  usual.state.stored = { next: 5, at: NOW - 24 * HOUR_MS }
  expect(await usual.target.open(partition, facts)).toBe(5)
  usual.state.stored = { next: 5, at: NOW - 24 * HOUR_MS - 1 }
  expect(await usual.target.open(partition, facts)).toBeUndefined()
  expect(usual.cleared).toEqual(['things 3'])
  // An old view that contains the whole log has missed nothing.
  usual.state.stored = { next: facts.end, at: NOW - 48 * HOUR_MS }
  expect(await usual.target.open(partition, facts)).toBe(facts.end)

  const short = world({ 'cleanup.policy': 'compact,delete', 'delete.retention.ms': String(HOUR_MS) })
  short.state.stored = { next: 5, at: NOW - HOUR_MS - 1 }
  expect(await short.target.open(partition, facts)).toBeUndefined()
})

test('a batch is refused if the view was last complete longer ago than the retention of tombstones, except while the view is being built', async () => {
  const { target, state, runtime } = world({ 'cleanup.policy': 'compact', 'delete.retention.ms': String(HOUR_MS) })
  const write = (completeAt?: number) => target.prepare({ partition, records: [], expected: 5, next: 6, caughtUp: false, completeAt })()
  await target.open(partition, facts)
  runtime.advance(2 * HOUR_MS)
  expect(await write(runtime.now())).toEqual({ outcome: 'applied' })
  runtime.advance(HOUR_MS)
  expect(await write()).toEqual({ outcome: 'applied' })
  runtime.advance(1)
  expect(await write()).toEqual({ outcome: 'offset-mismatch' })
  state.stored = { next: facts.end, at: NOW }
  await target.open(partition, facts)
  expect(await write()).toEqual({ outcome: 'applied' })
})
