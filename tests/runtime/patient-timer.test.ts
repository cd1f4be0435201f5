import { expect, test } from 'vitest'
import { patientTimer } from '../../runtime/patient-timer.ts'

/** Timers of a process that is busy from time to time: due timers fire only when it looks. */
function busyProcess() {
  let now = 0
  const due = new Map<() => void, number>()
  const turn: (() => void)[] = []
  return {
    timers: {
      setTimer(ms: number, callback: () => void) {
        due.set(callback, now + ms)
        return () => void due.delete(callback)
      },
      afterTurn: (callback: () => void) => void turn.push(callback),
      monotonic: () => now,
    },
    /** Runs what is due at a time, and then what waits for the end of the turn. */
    look(at: number, read: () => void = () => undefined): void {
      now = at
      for (const [callback, dueAt] of [...due]) {
        if (dueAt > now) continue
        due.delete(callback)
        callback()
      }
      read()
      for (const callback of turn.splice(0)) callback()
    },
  }
}

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
