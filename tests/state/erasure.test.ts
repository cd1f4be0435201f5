import { expect, test } from 'vitest'
import { readPipelinesConfig } from '../../pipelines/config.ts'
import { keptStateMs } from '../../pipelines/engine/index.ts'
import { erasureTimes } from '../../state/erasure.ts'

const HOUR_MS = 3_600_000

test.each([1_000, 60_000, HOUR_MS])(
  'with a time limit of %i ms for erasures, a blob is kept while its last read can be repeated, and is removed within the limit',
  (withinMs) => {
    const { repeatableMs, renewAfterMs, untouchedMs, sweepEveryMs } = erasureTimes(withinMs)
    // The last read does not touch the blob if another read has touched it within `renewAfterMs`.
    expect(repeatableMs + renewAfterMs).toBeLessThanOrEqual(untouchedMs)
    expect(untouchedMs + sweepEveryMs).toBeLessThan(withinMs)
  },
)

test('with a shorter time limit for erasures, blobs are touched more often', () => {
  const renewAfterMs = (env: Record<string, string>) => readPipelinesConfig(env).blobs.renewAfterMs
  expect(renewAfterMs({})).toBe(60_000)
  expect(renewAfterMs({ ERASE_WITHIN_SECONDS: '60' })).toBe(1_000)
})

test('if a partition has moved away, its erasable state is deleted early enough for the next scrub to erase it in time', () => {
  const config = readPipelinesConfig({})
  expect(keptStateMs(config.keepStateMs, config.eraseWithinMs, true) + erasureTimes(config.eraseWithinMs).scrubEveryMs).toBeLessThanOrEqual(
    config.eraseWithinMs / 2,
  )
  expect(keptStateMs(config.keepStateMs, config.eraseWithinMs, false)).toBe(HOUR_MS)
  expect(keptStateMs(60_000, config.eraseWithinMs, true)).toBe(60_000)
})
