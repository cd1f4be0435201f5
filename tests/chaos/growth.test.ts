import { expect, test } from 'vitest'
import { growth, growthFaults, type Sample } from './growth.ts'

const MIB = 1_048_576
const HOUR_MS = 3_600_000

/**
 * Returns one sample a minute for an hour. Everything grows in the first ten minutes, which are half of the warm-up.
 */
function samples(rssAt: (hours: number) => number, handlesAt: (hours: number) => number): Sample[] {
  return Array.from({ length: 61 }, (_, minute): Sample => {
    const hours = minute / 60
    const warming = Math.min(1, minute / 10)
    return { atMs: hours * HOUR_MS, rssBytes: rssAt(hours) * MIB * warming, handles: Math.round(handlesAt(hours) * warming) }
  })
}

test('the slope is computed only over the time after the warm-up', () => {
  const { rssBytesPerHour, rssRise, meanRssBytes } = growth(
    samples(
      (hours) => 200 + 30 * hours,
      () => 40,
    ),
  )
  expect(rssBytesPerHour / MIB).toBeCloseTo(30)
  expect(rssRise).toBeCloseTo(20 / 220, 2)
  expect(meanRssBytes / MIB).toBeCloseTo(220)
})

test('memory that fluctuates counts as flat', () => {
  const breathing = samples(
    (hours) => 200 + 15 * Math.sin(hours * 200),
    () => 40,
  )
  expect(growthFaults(growth(breathing))).toEqual([])
})

test('a leak of memory or file handles is reported', () => {
  const memory = growth(
    samples(
      (hours) => 200 + 60 * hours,
      () => 40,
    ),
  )
  expect(growthFaults(memory)).toEqual(['memory rose by 16.7 % after the warm-up'])
  const handles = growth(
    samples(
      () => 200,
      (hours) => 40 + 60 * hours,
    ),
  )
  expect(growthFaults(handles)).toEqual(['open files rose from 72 to 100'])
})
