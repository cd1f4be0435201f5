import { expect, test } from 'vitest'
import {
  LONGEST_PAUSE_MS,
  planRetry,
  RETRY_STEPS,
  retryPartition,
} from '../../../../../pipelines/engine/sinks/deliveries/retry-schedule.ts'

const DAY_MS = 24 * 3_600_000

/** Returns the times of all attempts to deliver a record that always fails. The first attempt is at 0. */
function attempts(random: () => number): number[] {
  const times = [0]
  for (let now = 0; ; ) {
    const plan = planRetry({ failures: times.length, firstAt: 0, now }, DAY_MS, random)
    if (plan === undefined) return times
    now = plan.notBefore
    times.push(now)
  }
}

test('a record is tried about forty times within a day: in quick succession at first, and for the last time at the end of the day', () => {
  const times = attempts(() => 0)
  expect(times.slice(0, 7)).toEqual([0, 1_000, 2_000, 12_000, 22_000, 32_000, 92_000])
  expect(times.length).toBeGreaterThan(35)
  expect(times.length).toBeLessThan(50)
  expect(times.at(-1)).toBe(DAY_MS)
  const pauses = times.slice(1).map((time, index) => time - times[index])
  expect(pauses.slice(0, -1)).toEqual([...pauses.slice(0, -1)].sort((a, b) => a - b))
})

test('jitter makes pauses longer by up to a fifth', () => {
  const times = attempts(() => 0.999)
  expect(times[1]).toBeGreaterThan(1_190)
  expect(times[1]).toBeLessThanOrEqual(1_200)
})

test('no pause is shorter than the receiver has requested, unless the receiver requests more than the longest pause', () => {
  const plan = (retryAfterMs: number) => planRetry({ failures: 1, firstAt: 0, now: 5_000, retryAfterMs }, DAY_MS, () => 0)
  expect(plan(500)).toEqual({ step: 0, notBefore: 6_000 })
  expect(plan(15_000)).toEqual({ step: 1, notBefore: 20_000 })
  expect(plan(700_000)).toEqual({ step: 3, notBefore: 705_000 })
  expect(plan(7 * DAY_MS)).toEqual({ step: RETRY_STEPS - 1, notBefore: 5_000 + LONGEST_PAUSE_MS })
})

test('if the number of partitions is a multiple of five, pauses of different lengths share no partition; with any number, every record has a partition', () => {
  for (const partitions of [1, 3, 5, 7, 10, 20]) {
    for (let step = 0; step < RETRY_STEPS; step++) {
      for (let hash = 0; hash < 40; hash++) {
        const partition = retryPartition(step, hash, partitions)
        expect(partition).toBeGreaterThanOrEqual(0)
        expect(partition).toBeLessThan(partitions)
        if (partitions % RETRY_STEPS === 0) expect(partition % RETRY_STEPS).toBe(step)
      }
    }
  }
  expect(new Set(Array.from({ length: 40 }, (_, hash) => retryPartition(2, hash, 20)))).toEqual(new Set([2, 7, 12, 17]))
})
