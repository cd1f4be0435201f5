import { expect, test } from 'vitest'
import { drawSchedule, FAULT_KINDS, FAULTS_WITHIN_MS, WORKERS } from './schedule.ts'

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed)

test('a seed always gives the same schedule, and another seed gives a different schedule', () => {
  expect(drawSchedule(7)).toEqual(drawSchedule(7))
  expect(drawSchedule(7).faults).not.toEqual(drawSchedule(8).faults)
})

test('the schedules of 300 seeds together contain every kind of fault; faults are sorted, begin during the input and affect existing workers', () => {
  const all = SEEDS.flatMap((seed) => ([1, 2, 3] as const).flatMap((brokers) => drawSchedule(seed, { brokers }).faults))
  expect(new Set(all.map(({ fault }) => fault.kind))).toEqual(new Set(FAULT_KINDS))
  for (const { atMs, fault } of all) {
    expect(atMs).toBeLessThan(FAULTS_WITHIN_MS)
    if ('worker' in fault) expect(fault.worker).toBeLessThan(WORKERS)
  }
  for (const seed of SEEDS) {
    const times = drawSchedule(seed).faults.map(({ atMs }) => atMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
})

test('some of a hundred seeds suspend the broker for longer than any session, but most pauses are short', () => {
  const pauses = SEEDS.slice(0, 100).flatMap((seed) =>
    drawSchedule(seed).faults.flatMap(({ fault }) => (fault.kind === 'broker-pause' ? [fault.ms] : [])),
  )
  expect(pauses.filter((ms) => ms > 15_000).length).toBeGreaterThan(0)
  expect(pauses.filter((ms) => ms <= 9_000).length).toBeGreaterThan(pauses.length / 2)
})

test('a schedule contains one fault of each chosen kind', () => {
  const kinds = drawSchedule(3, { kinds: ['broker-kill', 'cut'] }).faults.map(({ fault }) => fault.kind)
  expect(kinds.sort()).toEqual(['broker-kill', 'cut'])
})

test('with two brokers, every schedule moves partitions; with one broker, none does', () => {
  const kinds = (brokers: 1 | 2) => SEEDS.map((seed) => drawSchedule(seed, { brokers }).faults.some(({ fault }) => fault.kind === 'move'))
  expect(new Set(kinds(1))).toEqual(new Set([false]))
  expect(new Set(kinds(2))).toEqual(new Set([true]))
})

test('every schedule with large input changes leaders, kills a broker, lets a worker join and lets a topic grow', () => {
  for (const seed of SEEDS) {
    const { faults, atVolume } = drawSchedule(seed, { brokers: 3 })
    const kinds = new Set(faults.map(({ fault }) => fault.kind))
    expect(atVolume).toBe(true)
    expect([...kinds]).toEqual(expect.arrayContaining(['lead', 'replica-kill', 'join', 'grow']))
    expect(kinds.has('disk-full') || kinds.has('move')).toBe(false)
  }
})
