import { expect, test } from 'vitest'
import type { Ask, Counter, Undecided } from '../../../../api/limits/core/counter.ts'
import { ownCounts } from '../../../../api/limits/core/own-counts.ts'

const START_MS = 1_800_000_000_000
const WINDOW: Counter = { key: 'limits:{a}:r:w60', tag: 'a', limit: { limit: 10, windowSeconds: 60, burst: 0 } }
const BUCKET: Counter = { key: 'limits:{a}:r:b60', tag: 'a', limit: { limit: 60, windowSeconds: 60, burst: 5 } }
const DOWN: Undecided = { undecided: 'circuit_open' }
const LATE: Undecided = { undecided: 'timeout' }

function counts() {
  const clock = { ms: 0 }
  const own = ownCounts({ now: () => START_MS, monotonic: () => clock.ms })
  const ask = (counter: Counter, units = 1): Ask => ({ mode: 'hard', counter, units })
  /** Returns how many of `requests` requests are admitted. */
  function admitted(counter: Counter, requests: number, undecided: Undecided = DOWN): number {
    let count = 0
    for (let request = 0; request < requests; request++) count += own.decide([ask(counter)], undecided)[0].taken
    return count
  }
  /** Reports a reply of the store that arrives at the current time. */
  function learn(counter: Counter, taken: number, held: number, heldBefore = 0, isLate = false): void {
    own.learn([ask(counter, taken)], [{ taken, nowUs: (START_MS + clock.ms) * 1_000, held, heldBefore }], isLate)
  }
  return { own, clock, ask, admitted, learn }
}

test('a window continues from the last reply and slides like that of the store', () => {
  const { clock, admitted, learn } = counts()
  learn(WINDOW, 1, 6)
  expect(admitted(WINDOW, 10)).toBe(3)
  clock.ms += 59_000
  expect(admitted(WINDOW, 10)).toBe(0)
  // Half of the next window has passed, so the previous window's ten requests count as five.
  clock.ms += 31_000
  expect(admitted(WINDOW, 10)).toBe(5)
  clock.ms += 120_000
  expect(admitted(WINDOW, 20)).toBe(10)
})

test('a count is remembered once it reaches 1/64 of its limit', () => {
  const { admitted, learn } = counts()
  const counter = (name: string): Counter => ({ key: name, tag: name, limit: { limit: 640, windowSeconds: 60, burst: 0 } })
  learn(counter('below'), 1, 8)
  learn(counter('reached'), 1, 9)
  expect([admitted(counter('below'), 1_000), admitted(counter('reached'), 1_000)]).toEqual([640, 630])
})

test('a bucket continues from the last reply and is refilled', () => {
  const { clock, admitted, learn } = counts()
  learn(BUCKET, 1, 4_000_000)
  expect(admitted(BUCKET, 10)).toBe(3)
  clock.ms += 2_000
  expect(admitted(BUCKET, 10)).toBe(2)
  clock.ms += 3_600_000
  expect(admitted(BUCKET, 100)).toBe(65)
})

test('a timely reply replaces the known counts, and a late reply can only increase them', () => {
  const { admitted, learn } = counts()
  expect(admitted(WINDOW, 4, LATE)).toBe(4)
  learn(WINDOW, 1, 0, 0, true)
  expect(admitted(WINDOW, 10, LATE)).toBe(6)
  learn(WINDOW, 1, 2)
  expect(admitted(WINDOW, 10, LATE)).toBe(7)
})

test('requests from the end of a window also count in the next window if the store counts them only there', () => {
  const { clock, admitted, learn } = counts()
  clock.ms = 59_999
  expect(admitted(WINDOW, 20, LATE)).toBe(10)
  clock.ms = 60_000
  for (let held = 0; held < 10; held++) {
    learn(WINDOW, 1, held, 0, true)
    expect(admitted(WINDOW, 1, LATE)).toBe(0)
  }
})

test('units that the store has not counted are owed, and count until they are charged', () => {
  const { own, ask, admitted, learn } = counts()
  const windowIndex = START_MS / 60_000
  expect(admitted(WINDOW, 3, LATE)).toBe(3)
  expect(own.chargesFor([ask(WINDOW)])).toEqual([])
  expect(admitted(WINDOW, 2, DOWN)).toBe(2)
  expect(admitted(WINDOW, 1, { ...LATE, isUncounted: true })).toBe(1)
  // The count in a probe's reply does not include the probe's own request yet.
  learn(WINDOW, 0, 3)
  expect(admitted(WINDOW, 10, LATE)).toBe(4)
  const charges = own.chargesFor([ask(BUCKET), ask(WINDOW)])
  expect(charges).toEqual([{ mode: 'charge', counter: WINDOW, units: 3, windowIndex }])
  expect(own.chargesFor([ask(WINDOW)])).toEqual([])
  own.owe(charges)
  expect(own.chargesFor([ask(WINDOW)])).toEqual(charges)
})

test('units of the previous window stay owed when the next window begins, because the sliding window still counts them', () => {
  const { own, clock, ask, admitted, learn } = counts()
  const windowIndex = START_MS / 60_000
  const charge = (units: number, index: number) => ({ mode: 'charge', counter: WINDOW, units, windowIndex: index })
  expect(admitted(WINDOW, 20)).toBe(10)
  clock.ms = 75_000
  expect(admitted(WINDOW, 20)).toBe(3)
  // The reply to a probe contains none of the owed units.
  learn(WINDOW, 0, 0)
  expect(admitted(WINDOW, 20)).toBe(0)
  const charges = own.chargesFor([ask(WINDOW)])
  expect(charges).toEqual([charge(10, windowIndex), charge(3, windowIndex + 1)])
  own.owe(charges)
  clock.ms = 120_000
  expect(admitted(WINDOW, 1)).toBe(1)
  expect(own.chargesFor([ask(WINDOW)])).toEqual([charge(3, windowIndex + 1), charge(1, windowIndex + 2)])
  own.owe(charges)
  own.owe([{ mode: 'charge', counter: WINDOW, units: 1, windowIndex: windowIndex + 3 }])
  expect(own.chargesFor([ask(WINDOW)])).toEqual([charge(1, windowIndex + 3)])
})

test('a bucket does not owe tokens that have been refilled since they were taken', () => {
  const { own, clock, ask, admitted, learn } = counts()
  // The bucket gets one token per second, so a caller with one request per second never lacks more than one token.
  for (let second = 0; second < 600; second++) {
    expect(admitted(BUCKET, 1, DOWN)).toBe(1)
    clock.ms += 1_000
  }
  // The store is so slow that all answers are late. A late answer must not make refilled tokens count as missing.
  for (let answer = 0; answer < 2; answer++) learn(BUCKET, 0, 65_000_000, 0, true)
  expect(own.chargesFor([ask(BUCKET)])).toEqual([])
  expect(admitted(BUCKET, 60, DOWN)).toBe(60)
  clock.ms += 20_000
  expect(own.chargesFor([ask(BUCKET)])).toMatchObject([{ mode: 'charge', counter: BUCKET, units: 40 }])
  expect(admitted(BUCKET, 10, DOWN)).toBe(10)
  clock.ms += 86_400_000
  expect(own.chargesFor([ask(BUCKET)])).toEqual([])
})

test('if one shard has decided its part of a request, only the rest is counted', () => {
  const { own, ask } = counts()
  const asks = [ask(WINDOW), ask(BUCKET)]
  const reading = { taken: 1, nowUs: START_MS * 1_000, held: 5, heldBefore: 0 }
  const readings = own.decide(asks, { ...DOWN, decided: new Map([[asks[0], reading]]) })
  expect(readings[0]).toBe(reading)
  expect(own.chargesFor(asks)).toMatchObject([{ counter: BUCKET, units: 1 }])
})

test('a request that one of its counters refuses takes nothing from its other counters', () => {
  const { own, ask, admitted, learn } = counts()
  learn(WINDOW, 1, 9)
  expect(own.decide([ask(WINDOW), ask(BUCKET)], DOWN).map(({ taken }) => taken)).toEqual([0, 1])
  expect(own.chargesFor([ask(BUCKET)])).toEqual([])
  expect(admitted(BUCKET, 100)).toBe(65)
})

test('a counter that was reset starts from zero', () => {
  const { own, admitted } = counts()
  expect(admitted(WINDOW, 20)).toBe(10)
  own.forget([WINDOW.key])
  expect(own.chargesFor([{ mode: 'hard', counter: WINDOW, units: 1 }])).toEqual([])
  expect(admitted(WINDOW, 20)).toBe(10)
})
