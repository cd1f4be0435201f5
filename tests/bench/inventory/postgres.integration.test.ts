import { expect, onTestFinished, test } from 'vitest'
import { newestOf, startPostgres } from '../../../bench/inventory/postgres.ts'
import { PeerMissingError } from '../../../bench/peer-missing.ts'
import { guardedFolder } from '../../stack/folder.ts'

test('versions are compared as numbers', () => {
  expect(newestOf(['9.6', '15', '17', '16'])).toBe('17')
  expect(newestOf([])).toBeUndefined()
})

test('a measurement contains only its own operations, and not those of an earlier measurement', async ({ skip }) => {
  const postgres = await startPostgres(guardedFolder().path).catch((error: Error) => {
    if (!(error instanceof PeerMissingError)) throw error
    return skip(error.message)
  })
  onTestFinished(() => postgres.stop())
  const measure = (perSecond: number) => postgres.measure({ variants: 10, perSecond, seconds: 1, quantity: 1_000 }).length
  measure(1_000)
  // The intervals between operations are random, so one second may contain more than 20 operations, but not 100.
  expect(measure(20)).toBeLessThan(100)
})
