import { expect, test } from 'vitest'
import { circuit } from '../../../state/redis/circuit.ts'

function clocked() {
  const clock = { now: 1_000 }
  return { clock, one: circuit(() => clock.now) }
}

test('a circuit stays closed while answers arrive', () => {
  const { one } = clocked()
  expect(one.admit()).toBe('send')
  one.answered()
  expect(one.admit()).toBe('send')
})

test('a circuit opens after a failure, admits one batch as a probe after the pause, and closes after an answer', () => {
  const { clock, one } = clocked()
  one.failed()
  expect([one.isOpen, one.admit()]).toEqual([true, 'skip'])
  clock.now += 10
  expect([one.admit(), one.admit()]).toEqual(['probe', 'skip'])
  one.answered()
  expect([one.isOpen, one.admit()]).toEqual([false, 'send'])
})

test('pauses double up to 200 ms, and are at the minimum again after an answer', () => {
  const { clock, one } = clocked()
  one.failed()
  const pauses: number[] = []
  for (let round = 0; round < 7; round++) {
    const since = clock.now
    while (one.admit() === 'skip') clock.now++
    pauses.push(clock.now - since)
    one.failed()
  }
  expect(pauses).toEqual([10, 20, 40, 80, 160, 200, 200])
  clock.now += 200
  one.admit()
  one.answered()
  one.failed()
  clock.now += 10
  expect(one.admit()).toBe('probe')
})

test('a brief stall leaves the circuit closed; the circuit opens when no answer has been on time for 20 ms', () => {
  const { clock, one } = clocked()
  // A brief stall of Redis makes many batches late at the same time.
  for (let batch = 0; batch < 25; batch++) one.late()
  expect(one.isOpen).toBe(false)
  clock.now += 19
  one.late()
  expect([one.isOpen, one.admit()]).toEqual([false, 'send'])
  one.answered()
  clock.now += 5
  one.late()
  expect(one.isOpen).toBe(false)
  clock.now += 20
  one.late()
  expect([one.isOpen, one.admit()]).toEqual([true, 'skip'])
})

test('a late answer to a probe doubles the pause', () => {
  const { clock, one } = clocked()
  one.failed()
  clock.now += 10
  expect(one.admit()).toBe('probe')
  one.late()
  clock.now += 19
  expect(one.admit()).toBe('skip')
  clock.now += 1
  expect(one.admit()).toBe('probe')
})

test('batches that fail together count as one failure', () => {
  const { clock, one } = clocked()
  for (let batch = 0; batch < 5; batch++) one.failed()
  clock.now += 10
  expect(one.admit()).toBe('probe')
})
