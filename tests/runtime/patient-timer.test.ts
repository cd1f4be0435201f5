import { expect, test } from 'vitest'
import { patientTimer } from '../../runtime/patient-timer.ts'
import { busyProcess } from './busy-process.ts'

test('a timer that fires in time calls back after sockets were read', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  patientTimer(timers, 15, 50, () => void events.push('late'))
  look(14)
  expect(events).toEqual([])
  look(15.5, () => void events.push('read'))
  expect(events).toEqual(['read', 'late'])
})

test('a busy process waits once more, and takes an answer that comes then', () => {
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

test('a process that stays busy gives up at the greatest limit', () => {
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

test('a stall beyond the greatest limit leaves one look at the sockets', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  const cancel = patientTimer(timers, 15, 50, () => void events.push('late'))
  look(300, cancel)
  expect(events).toEqual([])
  patientTimer(timers, 15, 50, () => void events.push('late'))
  look(600)
  expect(events).toEqual(['late'])
})

test('a limit that is not to be prolonged is kept', () => {
  const { timers, look } = busyProcess()
  const events: string[] = []
  patientTimer(timers, 15, 15, () => void events.push('late'))
  look(17)
  expect(events).toEqual(['late'])
})
