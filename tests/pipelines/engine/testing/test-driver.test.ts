import { expect, test } from 'vitest'
import { DriverCrash, testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { type KeyedStore, keyedStore } from '../../../../state/stores/keyed-store.ts'
import { lines, numberFormat, textTopic, wordCount, wordCounts } from '../words.ts'

function lastCounts(records: { key: string | undefined; value: number | null }[]): Record<string, number> {
  return Object.fromEntries(records.map(({ key, value }) => [key, value ?? -1]))
}

test('the driver runs a word count of two stages across partitions', () => {
  const driver = testDriver(wordCount())
  driver.pipe(lines, 'ann', 'to be or not to be')
  driver.pipe(lines, 'bob', 'be')
  expect(lastCounts(driver.read(wordCounts))).toEqual({ to: 2, be: 3, or: 1, not: 1 })
})

test.each(['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const)(
  'a crash after %s neither loses nor duplicates anything',
  (step) => {
    const driver = testDriver(wordCount())
    driver.pipe(lines, 'ann', 'to be')
    driver.crashAt(step)
    expect(() => driver.pipe(lines, 'bob', 'or not to be')).toThrow(DriverCrash)
    driver.restart()
    driver.settle()
    driver.pipe(lines, 'ann', 'be')
    expect(lastCounts(driver.read(wordCounts))).toEqual({ to: 2, be: 3, or: 1, not: 1 })
  },
)

test('the driver refuses a partition count for a topic that the topology does not use', () => {
  expect(() => testDriver(wordCount(), { partitions: { lnes: 3 } })).toThrow('does not use topic lnes')
})

test('the driver reports a topology that feeds itself endlessly', () => {
  const echo = topology('echo', (t) => {
    t.source(lines).process('repeat', { emits: [lines] }, (line, ctx) => ctx.emit(lines, ctx.key, line))
  })
  expect(() => testDriver(echo).pipe(lines, 'ann', 'to be')).toThrow('echo does not come to rest')
})

test('a lost state folder is restored from the changelogs', () => {
  const driver = testDriver(wordCount())
  driver.pipe(lines, 'ann', 'to be or not to be')
  driver.read(wordCounts)
  driver.restart({ wipeState: true })
  driver.pipe(lines, 'ann', 'be')
  expect(lastCounts(driver.read(wordCounts))).toEqual({ be: 3 })
})

test('the driver refuses partition counts with which a worker would not start', () => {
  const joined = topology('joined', (t) => {
    const store = keyedStore('store', { key: utf8, value: numberFormat })
    t.source(textTopic('left', 2)).process('one', { stores: [store] }, (_, ctx) => store.put(ctx.key, 1))
    t.source(textTopic('right', 2)).process('two', { stores: [store] }, (_, ctx) => store.put(ctx.key, 1))
  })
  expect(() => testDriver(joined, { partitions: { right: 3 } })).toThrow('left has 2 partitions and right has 3')
})

test('a commit runs only the hooks of tasks that have something to commit', () => {
  const input = textTopic('input', 3)
  const hooked = topology('hooked', (t) => {
    const partitions = t.repartition('partitions', { ...textTopic('partitions', 1) })
    t.source(input)
      .process('ignore', {}, () => {})
      .beforeCommit('report', { emits: [partitions] }, (ctx) => ctx.emit(partitions, 'committed', String(ctx.partition)))
    t.source(partitions).process('show', { emits: [lines] }, (partition, ctx) => ctx.emit(lines, ctx.key, partition))
  })
  const driver = testDriver(hooked)
  driver.pipe(input, 'ann', 'to be', { partition: 1 })
  expect(driver.read(lines).map(({ value }) => value)).toEqual(['1'])
})

test('after a restart, a new version gets the records on which the old version failed', () => {
  const input = textTopic('input', 1)
  const version = (isMended: boolean) =>
    topology('mended', (t) => {
      t.source(input, { onError: { process: 'dead-letter' } }).process('repeat', { emits: [lines] }, (line, ctx) => {
        if (!isMended) throw new Error('a bug')
        ctx.emit(lines, ctx.key, line)
      })
    })
  const driver = testDriver(version(false))
  driver.crashAt('encoded')
  expect(() => driver.pipe(input, 'ann', 'to be')).toThrow(DriverCrash)
  driver.restart({ topology: version(true) })
  driver.settle()
  expect(driver.read(lines).map(({ value }) => value)).toEqual(['to be'])
  expect(driver.readDeadLetters()).toEqual([])
})

test.each(['processor', 'tick'])('nothing remains of work that a failing %s has begun', (failing) => {
  let fails = true
  function fail(here: string): void {
    if (fails && here === failing) throw new Error('a bug')
  }
  const counted = topology('counted', (t) => {
    const counts = keyedStore('counts', { key: utf8, value: numberFormat })
    const add = (key: string) => counts.put(key, (counts.get(key) ?? 0) + 1)
    t.source(lines)
      .process('count', { stores: [counts] }, (_line, ctx) => {
        add(ctx.key)
        fail('processor')
      })
      .tick('count-ticks', { everyMs: 1_000, clock: 'wall', stores: [counts] }, () => {
        add('ticks')
        fail('tick')
      })
  })
  const driver = testDriver(counted, { partitions: { lines: 1 } })
  expect(() => {
    driver.pipe(lines, 'ann', 'to be')
    driver.advanceWallClock(1_000)
  }).toThrow('a bug')
  fails = false
  driver.settle()
  driver.advanceWallClock(1_000)
  const counts = driver.store<KeyedStore<string, number>>('counts')
  expect([counts.get('ann'), counts.get('ticks')]).toEqual([1, 1])
})
