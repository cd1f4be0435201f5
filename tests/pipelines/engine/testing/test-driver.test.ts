import { expect, test } from 'vitest'
import { DriverCrash, testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { lines, wordCount, wordCounts } from '../words.ts'

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

test('a topology that feeds itself endlessly is reported', () => {
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
