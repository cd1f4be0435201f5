import { expect, test } from 'vitest'
import { viewVersions } from '../../../api/trends/view-versions.ts'

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Creates view versions whose reads from Redis the test answers, either with a position, or with null for a view that
 * is being rebuilt.
 */
function world() {
  const clock = { now: 0 }
  const reads: PromiseWithResolvers<string | null>[] = []
  const reader = {
    hget(_key: string, topic: string) {
      if (topic === 'trend-output') reads.push(Promise.withResolvers())
      return reads.at(-1)!.promise
    },
    get: () => reads.at(-1)!.promise,
  }
  return { clock, reads, versions: viewVersions(reader, () => clock.now) }
}

test.each([
  ['a different position', (read: PromiseWithResolvers<string | null>) => read.resolve('6')],
  ['null for a view that is being rebuilt', (read: PromiseWithResolvers<string | null>) => read.resolve(null)],
  ['an error', (read: PromiseWithResolvers<string | null>) => read.reject(new Error('too late'))],
])('a late answer to an older read (%s) does not replace the answer to a newer read', async (_, answerLate) => {
  const { clock, reads, versions } = world()
  versions.of(0).catch(() => undefined)
  clock.now = 600
  expect(versions.isCurrent(0, '7,7')).toBe(false)
  expect(reads).toHaveLength(2)
  reads[1].resolve('7')
  await settled()
  expect(versions.isCurrent(0, '7,7')).toBe(true)
  answerLate(reads[0])
  await settled()
  expect(versions.isCurrent(0, '7,7')).toBe(true)
  expect(reads).toHaveLength(2)
})

test('an answer that arrives after the next read has begun still counts', async () => {
  const { clock, reads, versions } = world()
  void versions.of(0)
  clock.now = 600
  versions.isCurrent(0, '7,7')
  expect(reads).toHaveLength(2)
  reads[0].resolve('7')
  await settled()
  expect(versions.isCurrent(0, '7,7')).toBe(true)
})
