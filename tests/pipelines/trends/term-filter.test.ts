import { expect, test } from 'vitest'
import { keyHash } from '../../../pipelines/engine/index.ts'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { termFilter } from '../../../pipelines/trends/term-filter.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { block, entriesOf, HOUR, MINUTE, START, send, WORLD } from './driving.ts'

const TERMS = 20_000
const hashOf = (term: string) => keyHash(Buffer.from(term), 0, Buffer.byteLength(term))
const name = (i: number) => hashOf(`term ${i}`)

test('until a scan of all rows is complete, every term may have a row', () => {
  const filter = termFilter()
  filter.add(hashOf('a'))
  filter.walked(hashOf('b'))
  expect(['a', 'b', 'c'].map(hashOf).map(filter.mayHave)).toEqual([true, true, true])
  filter.walkCompleted()
  expect(['a', 'b', 'c'].map(hashOf).map(filter.mayHave)).toEqual([true, true, false])
})

test('no term with a row is missed, and fewer than 1 % of the terms without a row are mistaken for terms with one', () => {
  const filter = termFilter()
  for (let i = 0; i < TERMS; i++) filter.walked(name(i))
  filter.walkCompleted()
  // These terms get their rows during the next scan. The scan has already passed the positions of some of them.
  for (let i = TERMS; i < 2 * TERMS; i++) filter.add(name(i))
  const missed = () => Array.from({ length: 2 * TERMS }, (_, i) => name(i)).filter((term) => !filter.mayHave(term))
  expect(missed()).toEqual([])
  for (let i = 0; i < TERMS; i++) filter.walked(name(i))
  filter.walkCompleted()
  expect(missed()).toEqual([])
  let mistaken = 0
  for (let i = 0; i < TERMS; i++) if (filter.mayHave(hashOf(`other ${i}`))) mistaken++
  expect(mistaken).toBeLessThan(TERMS / 100)
})

test('once the row of a term was committed and later deleted, the next complete scan removes the term from the filter', () => {
  const filter = termFilter()
  for (let i = 0; i < TERMS; i++) filter.add(name(i))
  filter.walkCompleted()
  expect(filter.mayHave(name(7))).toBe(true)
  for (let commits = 0; commits < 2; commits++) filter.commitBegins()
  filter.walkCompleted()
  filter.walkCompleted()
  expect(filter.mayHave(name(7))).toBe(false)
})

test('each new filter contains the terms whose rows are not committed yet, because scans do not find these rows', () => {
  const filter = termFilter()
  filter.add(name(1))
  filter.commitBegins()
  filter.add(name(2))
  for (let scans = 0; scans < 3; scans++) filter.walkCompleted()
  expect([1, 2, 3].map(name).map(filter.mayHave)).toEqual([true, true, false])
})

test('a filter that gets half a million terms between two scans misses no term, and mistakes fewer than 1 % of other terms for its own', () => {
  const filter = termFilter()
  filter.walkCompleted()
  const added = 500_000
  for (let i = 0; i < added; i++) filter.add(name(i))
  let missed = 0
  for (let i = 0; i < added; i++) if (!filter.mayHave(name(i))) missed++
  expect(missed).toBe(0)
  let mistaken = 0
  for (let i = 0; i < TERMS; i++) if (filter.mayHave(hashOf(`other ${i}`))) mistaken++
  expect(mistaken).toBeLessThan(TERMS / 100)
})

test('a term keeps its counts even if two scans end before the commit of its row', () => {
  const cells = 'trends-drawn-cells-repartition'
  const driver = testDriver(trends, { startAt: START, partitions: { [cells]: 1, 'trends-listed-repartition': 1 } })
  driver.advanceWallClock(MINUTE)
  // The partition of the terms reads nothing for an hour. It then closes times in two different hours within one
  // transaction, and scans its rows once for each of the two hours.
  block(driver, cells, 0)
  driver.advanceWallClock(HOUR / 2)
  send(driver, { hashtags: ['sandy'] })
  driver.advanceWallClock(HOUR / 2)
  driver.restart()
  send(driver, { hashtags: ['sandy'] })
  driver.advanceWallClock(MINUTE)
  expect(entriesOf(driver, WORLD)).toMatchObject([{ term: 'sandy', tweet_volume: 2 }])
})
