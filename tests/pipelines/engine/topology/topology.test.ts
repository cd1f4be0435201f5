import { expect, test } from 'vitest'
import { testDriver } from '../../../../pipelines/engine/testing.ts'
import { TopologyError } from '../../../../pipelines/engine/topology/errors.ts'
import { late } from '../../../../pipelines/engine/topology/outcome.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { checkInternalTopics } from '../../../../pipelines/engine/worker/worker-topics.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { numberFormat, numberTopic, textTopic, wordCount } from '../words.ts'

const a = textTopic('a')
const b = textTopic('b')
const out = textTopic('out')
const nothing = () => undefined
const store = (name: string) => keyedStore(name, { key: utf8, value: numberFormat })

test('streams that share no state are separate sub-topologies', () => {
  const parts = wordCount().subTopologies
  expect(parts).toEqual([
    { index: 0, sources: ['lines'], stores: [], partitions: 2 },
    { index: 1, sources: ['words-by-word-repartition'], stores: ['totals'], partitions: 3 },
  ])
})

test('streams that share a store, directly or through a third stream, are one sub-topology', () => {
  const joined = topology('joined', (t) => {
    const [left, right] = [store('left'), store('right')]
    t.source(a).process('one', { stores: [left] }, nothing)
    t.source(b).process('two', { stores: [right] }, nothing)
    t.source(textTopic('c')).process('three', { stores: [left, right] }, nothing)
  })
  expect(joined.subTopologies.map(({ sources }) => sources)).toEqual([['a', 'b', 'c']])
})

test('naming a store declares it, and stores are in the order in which nodes first name them', () => {
  const single = topology('single', (t) => {
    const [first, second, third] = [store('first'), store('second'), store('third')]
    t.source(a)
      .process('one', { stores: [first, third] }, nothing)
      .process('two', { stores: [second, first] }, nothing)
  })
  expect(single.subTopologies[0].stores).toEqual(['first', 'third', 'second'])
})

test('a repartition topic may receive the late records of a source', () => {
  const driver = testDriver(
    topology('with-late', (t) => {
      const lateLines = t.repartition('late', { key: a.key, value: a.value, partitions: 3 })
      t.source(a, { lateOutput: lateLines }).process('one', {}, () => late)
      t.source(lateLines).process('two', { emits: [out] }, (line, ctx) => ctx.emit(out, ctx.key, line))
    }),
  )
  driver.pipe(a, 'k', 'v')
  expect(driver.read(out)).toMatchObject([{ key: 'k', value: 'v' }])
})

test('describe prints sources, processors, stores and topics as text', () => {
  expect(wordCount().describe().text).toBe(`topology words
  sub-topology 0: 2 partitions
    source lines
      process split → words-by-word-repartition
  sub-topology 1: 3 partitions
    source words-by-word-repartition
      process count (stores totals) → word-counts
    store totals (changelog words-totals-changelog)
`)
})

test('describe prints sources, processors, stores and sub-topologies as a Mermaid flow chart', () => {
  const { mermaid } = wordCount().describe()
  expect(mermaid.split('\n')[0]).toBe('flowchart LR')
  for (const part of ['[/"lines"/]', '["split"]', '[("totals")]', 'subgraph part1["sub-topology 1"]']) expect(mermaid).toContain(part)
})

test.each([
  ['a topology without a name', () => topology('', (t) => t.source(a)), 'topology name ""'],
  [
    'a topology name that is not valid in the names of topics',
    () => topology('a b', (t) => t.source(a)),
    'topology name "a b" cannot be used',
  ],
  ['a topology name that begins with a dash', () => topology('-a', (t) => t.source(a)), 'underscores that begins with a letter or digit'],
  ['a topology without a source', () => topology('t', nothing), 'reads nothing'],
  ['a source without partitions', () => topology('t', (t) => t.source(textTopic('a', 0))), 'topic a: partitions must be'],
  [
    'a repartition topic with an impossible number of partitions',
    () => topology('t', (t) => t.repartition('by-key', { key: utf8, value: numberFormat, partitions: Number.NaN })),
    'topic t-by-key-repartition: partitions must be a positive whole number, not NaN',
  ],
  [
    'two processors with the same name',
    () => topology('t', (t) => t.source(a).process('same', {}, nothing).process('same', {}, nothing)),
    'two nodes are called same',
  ],
  ['a processor without a name', () => topology('t', (t) => t.source(a).process('', {}, nothing)), 'processor name ""'],
  [
    'two stores with the same name',
    () => topology('t', (t) => t.source(a).process('p', { stores: [store('s'), store('s')] }, nothing)),
    'two stores are called s',
  ],
  [
    'a topic that is read twice',
    () =>
      topology('t', (t) => {
        t.source(a)
        t.source(a)
      }),
    'a is read twice',
  ],
  [
    'a processor with `reads` that names no store',
    () => topology('t', (t) => t.source(a).process('p', { reads: nothing }, nothing)),
    'p has `reads`, but names no stores',
  ],
  [
    'sources with different partition counts that share a store',
    () =>
      topology('t', (t) => {
        const shared = store('shared')
        t.source(a).process('one', { stores: [shared] }, nothing)
        t.source(textTopic('wide', 5)).process('two', { stores: [shared] }, nothing)
      }),
    'a has 2 partitions and wide has 5',
  ],
  [
    'a repartition topic that no stage reads',
    () =>
      topology('t', (t) => {
        const lost = t.repartition('lost', { key: utf8, value: numberFormat, partitions: 1 })
        t.source(a).process('p', { emits: [lost] }, nothing)
      }),
    'nothing reads the repartition topic lost',
  ],
  [
    'a repartition topic that no stage fills',
    () => topology('t', (t) => t.source(t.repartition('empty', { key: utf8, value: numberFormat, partitions: 1 }))),
    'nothing emits to the repartition topic empty',
  ],
  [
    'a time handler without markers',
    () => topology('t', (t) => t.source(a).onTime('close', {}, nothing)),
    'close waits for time markers on a, but no stage sends any',
  ],
  [
    'a topic that gets time markers although no source reads it',
    () => topology('t', (t) => t.source(a).markTime({ everyMs: 1_000, delayMs: 0, to: numberTopic('n') })),
    'a sends time markers to n, but the topology does not read n',
  ],
  [
    'a tick without a period',
    () => topology('t', (t) => t.source(a).tick('tick', { everyMs: 0, clock: 'wall' }, nothing)),
    'everyMs must be',
  ],
  [
    'a negative delay of time markers',
    () => topology('t', (t) => t.source(a).markTime({ everyMs: 1_000, delayMs: -1, to: numberTopic('n') })),
    'delayMs must be',
  ],
])('%s is refused when it is declared', (_, declare, message) => {
  expect(declare).toThrow(message)
})

test('a store that is created outside of the build function is refused, because all tasks would share that store', () => {
  const shared = store('shared')
  const tested = topology('sharing', (t) => void t.source(a).process('one', { stores: [shared] }, nothing))
  expect(() => testDriver(tested)).toThrow(
    new TopologyError(
      'topology sharing: the store shared is created outside of the build function: create it inside, so that each task has a separate store',
    ),
  )
})

test('each declaration runs the build function again, and gets separate stores', () => {
  let builds = 0
  const counted = topology('counted', (t) => {
    builds++
    t.source(a).process('p', { stores: [store('s')], emits: [out] }, nothing)
  })
  const before = builds
  const [one, two] = [counted.declare(), counted.declare()]
  expect(builds).toBe(before + 2)
  expect(one.stores.get('s')).not.toBe(two.stores.get('s'))
})

test.each([
  [{ commitIntervalMs: Number.NaN }, 'the option commitIntervalMs is NaN, but must be a number of milliseconds that is not negative'],
  [{ commitSoonMs: -1 }, 'the option commitSoonMs is -1, but must be a number of milliseconds that is not negative'],
  [{ collectMs: 'later' }, "the option collectMs is later, but must be a number of milliseconds that is not negative, or 'until-commit'"],
  [{ maxIdleMs: -2 }, 'the option maxIdleMs is -2, but must be a number of milliseconds that is not negative, or -1'],
  [{ standby: 3 }, 'the option standby is 3, but must be 0, 1 or 2'],
  [{ erasesIds: 'yes' }, 'the option erasesIds is yes, but must be true or false'],
  [{ standbys: 1 }, 'there is no option standbys'],
])('the options %o are refused', (options, message) => {
  const declare = () => topology('wrong', (t) => t.source(a).process('one', {}, nothing), options as never)
  expect(declare).toThrow(new TopologyError(`topology wrong: ${message}`))
})

test('options at the limits of their ranges, and undefined options, are accepted', () => {
  const options = { commitIntervalMs: 0, commitSoonMs: undefined, collectMs: 'until-commit', maxIdleMs: -1, standby: 2 } as const
  expect(topology('right', (t) => t.source(a).process('one', {}, nothing), options).options).toEqual(options)
})

/** Creates a topology with a store and a repartition topic. */
function twoStages(name: string, storeName: string, middle: string, options: { readonly logged?: boolean } = {}) {
  return topology(name, (t) => {
    const numbers = keyedStore(storeName, { key: utf8, value: numberFormat, ...options })
    const between = t.repartition(middle, { key: a.key, value: a.value, partitions: 2 })
    t.source(a).process('one', { emits: [between] }, nothing)
    t.source(between).process('two', { stores: [numbers] }, nothing)
  })
}

test('topologies whose internal topics would have the same name are refused', () => {
  const shared = (topic: string) =>
    new TopologyError(`topologies a and a-b would share the topic ${topic}: rename a topology, store or repartition topic`)
  expect(() => checkInternalTopics([twoStages('a', 'x', 'b-c'), twoStages('a-b', 'y', 'c')])).toThrow(shared('a-b-c-repartition'))
  expect(() => checkInternalTopics([twoStages('a', 'b-c', 'x'), twoStages('a-b', 'c', 'y')])).toThrow(shared('a-b-c-changelog'))
})

test('stores without a changelog, and stores of different topologies with the same name, do not collide', () => {
  const topologies = [twoStages('a', 'b-c', 'x', { logged: false }), twoStages('a-b', 'c', 'y'), twoStages('d', 'c', 'y')]
  expect(() => checkInternalTopics(topologies)).not.toThrow()
})
