import { expect, test } from 'vitest'
import { patientTimer } from '../../runtime/patient-timer.ts'
import { busyProcess } from './busy-process.ts'

test('a timer that fires on time calls back only after the sockets have been read', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  patientTimer(timers, 15, 50, () => void events.push('late'))
  look(14)
  expect(events).toEqual([])
  look(15.5, () => void events.push('read'))
  expect(events).toEqual(['read', 'late'])
})

test('a busy process extends the wait once, and accepts an answer that arrives during the extension', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  const cancel = patientTimer(timers, 15, 50, () => void events.push('late'))
  look(30)
  look(44)
  expect(events).toEqual([])
  look(45, cancel)
  look(100)
  expect(events).toEqual([])
})

test('a process that stays busy gives up at the maximum limit', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  patientTimer(timers, 15, 50, () => void events.push('late'))
  look(30)
  look(48)
  look(49)
  expect(events).toEqual([])
  look(50)
  expect(events).toEqual(['late'])
})

test('after a stall beyond the maximum limit, the sockets are read once before the wait ends', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  const cancel = patientTimer(timers, 15, 50, () => void events.push('late'))
  look(300, cancel)
  expect(events).toEqual([])
  patientTimer(timers, 15, 50, () => void events.push('late'))
  look(600)
  expect(events).toEqual(['late'])
})

test('the limit is not extended if the maximum equals the limit', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  patientTimer(timers, 15, 15, () => void events.push('late'))
  look(17)
  expect(events).toEqual(['late'])
})
