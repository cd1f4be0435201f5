import { expect, test } from 'vitest'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import type { Context, Stream } from '../../../../pipelines/engine/topology/api.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { type KeyedStore, keyedStore } from '../../../../state/stores/keyed-store.ts'
import { bench } from '../harness.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'

const input = textTopic('input', 1)
const output = numberTopic('output', 1)
const SECOND_MS = 1_000

type Use = (ctx: Context) => void
interface Declared {
  readonly stores?: readonly KeyedStore<string, number>[]
  readonly emits?: readonly (typeof output)[]
}

/**
 * Functions that add a node, one for each kind of node with custom code except time handlers. The node runs `use` and
 * declares `declared`.
 */
const NODES: Readonly<Record<string, (stream: Stream<string, string>, declared: Declared, use: Use) => void>> = {
  process: (stream, declared, use) => stream.process('node', declared, (_line, ctx) => use(ctx)),
  'wall tick': (stream, declared, use) => stream.tick('node', { everyMs: SECOND_MS, clock: 'wall', ...declared }, (_now, ctx) => use(ctx)),
  'event tick': (stream, declared, use) =>
    stream.tick('node', { everyMs: SECOND_MS, clock: 'event', ...declared }, (_now, ctx) => use(ctx)),
  'caught-up tick': (stream, declared, use) =>
    stream.tick('node', { everyMs: SECOND_MS, clock: 'caught-up', ...declared }, (_now, ctx) => use(ctx)),
  beforeCommit: (stream, declared, use) => stream.beforeCommit('node', declared, use),
}

/**
 * Creates a topology in which another node also declares the store, so that the store exists even if `node` does not
 * declare it.
 */
function withNode(
  kind: string,
  declared: (store: KeyedStore<string, number>) => Declared,
  use: (store: KeyedStore<string, number>) => Use,
) {
  return topology('declared-use', (t) => {
    const store = keyedStore('totals', { key: utf8, value: numberFormat })
    const stream = t.source(input).process('other', { stores: [store] }, (_line, ctx) => store.put(ctx.key, 1))
    NODES[kind](stream, declared(store), use(store))
  })
}

function runAll(tested: ReturnType<typeof withNode>): void {
  const driver = testDriver(tested)
  driver.pipe(input, 'k', 'a line')
  driver.pipe(input, 'k', 'a line', { timestamp: driver.now + 2 * SECOND_MS })
  driver.advanceWallClock(2 * SECOND_MS)
}

test.each(Object.keys(NODES))('a store that a %s did not declare is refused', (kind) => {
  const reads = withNode(
    kind,
    () => ({}),
    (store) => () => store.get('k'),
  )
  expect(() => runAll(reads)).toThrow('node uses the store totals: name that store in its `stores`')
})

test.each(Object.keys(NODES))('a topic that a %s did not declare is refused', (kind) => {
  const emits = withNode(
    kind,
    () => ({}),
    () => (ctx) => ctx.emit(output, 'k', 1),
  )
  expect(() => runAll(emits)).toThrow('node emits to output: name that topic in its `emits`')
})

test.each(Object.keys(NODES))('a %s may use what it declares', (kind) => {
  let used = 0
  const declaring = withNode(
    kind,
    (store) => ({ stores: [store], emits: [output] }),
    (store) => (ctx) => {
      store.put('k', (store.get('k') ?? 0) + 1)
      ctx.emit(output, 'k', 1)
      used++
    },
  )
  runAll(declaring)
  expect(used).toBeGreaterThan(0)
})

test('even after it has yielded, a time handler can use only the stores that it declares', () => {
  const closing = (stores: (all: KeyedStore<string, number>[]) => KeyedStore<string, number>[]) =>
    topology('closing', (t) => {
      const [mine, others] = ['mine', 'others'].map((name) => keyedStore(name, { key: utf8, value: numberFormat }))
      const times = t.repartition('times', { key: utf8, value: numberFormat, partitions: 1 })
      t.source(input)
        .process('send', { emits: [times] }, () => undefined)
        .markTime({ everyMs: SECOND_MS, delayMs: 0, to: times })
      t.source(times)
        .process('take', { stores: [mine, others] }, () => undefined)
        .onTime('close', { stores: stores([mine, others]) }, function* close() {
          mine.put('k', 1)
          yield
          others.put('k', 1)
        })
    })
  const run = (tested: ReturnType<typeof closing>) => testDriver(tested).advanceWallClock(2 * SECOND_MS)
  expect(() => run(closing(([mine]) => [mine]))).toThrow('close uses the store others: name that store in its `stores`')
  expect(() => run(closing((all) => all))).not.toThrow()
})

test('`reads` can prefetch only from stores that the processor declares', () => {
  const prefetching = topology('prefetching', (t) => {
    const [mine, others] = ['mine', 'others'].map((name) => keyedStore(name, { key: utf8, value: numberFormat }))
    t.source(input)
      .process('other', { stores: [others] }, () => undefined)
      .process('mine', { stores: [mine], reads: (_line, key) => others.prefetch(key) }, () => undefined)
  })
  expect(() => testDriver(prefetching).pipe(input, 'k', 'a line')).toThrow('mine uses the store others: name that store in its `stores`')
})

test('a store that no node declares is refused at its first use', () => {
  const forgetful = topology('forgetful', (t) => {
    const totals = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(input).process('count', {}, (_line, ctx) => totals.put(ctx.key, 1))
  })
  expect(() => testDriver(forgetful).pipe(input, 'k', 'a line')).toThrow(
    'forgetful/count failed at input-0 offset 0: store totals is not open: name it in the `stores` of each processor',
  )
})

test('a test can read a store between calls to the driver, even after a use was rejected', () => {
  const driver = testDriver(
    withNode(
      'process',
      () => ({}),
      (store) => (ctx) => {
        if (ctx.streamTime > 0) store.get('k')
      },
    ),
  )
  driver.pipe(input, 'k', 'a line')
  const store = driver.store<KeyedStore<string, number>>('totals')
  expect(store.get('k')).toBe(1)
  expect(() => driver.pipe(input, 'k', 'a line')).toThrow('node uses the store totals')
  expect(store.get('k')).toBe(1)
})

test('a worker stops at the first use of an undeclared store', async () => {
  const { worker, send } = bench()
  const reads = withNode(
    'process',
    () => ({}),
    (store) => () => store.get('k'),
  )
  const started = await worker(reads)
  send(input, 'k', 'a line')
  await expect(started.done).rejects.toThrow('declared-use/node failed at input-0 offset 0: node uses the store totals')
})
