import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { KeptBeats, type KeptSession } from '../../../kafka/client/kept-session.ts'
import { type BeatAnswer, CHECK_EVERY_MS, stallWatch } from '../../../kafka/client/stall-watch.ts'

const TOLERANCE_MS = 30_000
const SESSION: KeptSession = {
  groupId: 'g',
  memberId: 'm',
  epoch: 4,
  owned: [{ topicId: 'id-of-t', partitions: [0] }],
  intervalMs: 2_000,
  clientId: 'c',
}

/** Creates a watch of one member. The coordinator gives these answers in order, and then repeats the last answer. */
function watched(answers: readonly (BeatAnswer | 'throws')[] = [{ type: 'kept', epoch: 4 }]) {
  let now = 0
  let lastTurn = 0
  let opened = 0
  let closed = 0
  const epochs: number[] = []
  const times: number[] = []
  const beats = new KeptBeats()
  let held: Promise<void> | undefined
  const watch = stallWatch({
    now: () => now,
    lastTurn: () => lastTurn,
    toleranceMs: TOLERANCE_MS,
    open: async () => {
      opened++
      return {
        async beat({ epoch }) {
          const answer = answers[Math.min(epochs.length, answers.length - 1)]
          epochs.push(epoch)
          times.push(now)
          await held
          if (answer === 'throws') throw new Error('broken')
          return answer
        },
        close: async () => void closed++,
      }
    },
  })
  watch.keep(1, SESSION, beats.memory)
  return {
    watch,
    beats,
    epochs,
    times,
    opened: () => opened,
    closed: () => closed,
    /** Makes the answers wait until the returned function is called. */
    holdAnswers() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    /**
     * Advances the clock by `ms`, and runs every check that becomes due in this time. With `turning`, the event loop is
     * not blocked.
     */
    async pass(ms: number, { turning = false } = {}) {
      for (const until = now + ms; now < until; ) {
        now += CHECK_EVERY_MS
        if (turning) lastTurn = now
        watch.check()
        await nextTurn()
      }
    },
  }
}

test('while the event loop keeps turning, the thread neither connects nor sends heartbeats', async () => {
  const { pass, opened, epochs } = watched()
  await pass(60_000, { turning: true })
  expect([opened(), epochs]).toEqual([0, []])
})

test('in a stall, the thread sends one heartbeat per interval until the stall exceeds the tolerance, and then stops and disconnects', async () => {
  const { pass, times, beats, closed } = watched()
  await pass(5_000, { turning: true })
  await pass(100_000)
  expect(times[0] - 5_000).toBeLessThanOrEqual(2_000)
  expect(new Set(times.slice(1).map((time, i) => time - times[i]))).toEqual(new Set([SESSION.intervalMs]))
  expect(times.at(-1)).toBeLessThanOrEqual(5_000 + TOLERANCE_MS)
  expect(times.at(-1)).toBeGreaterThan(5_000 + TOLERANCE_MS - 2 * SESSION.intervalMs)
  expect(beats.count).toBe(times.length)
  expect(closed()).toBe(1)
})

test('when the event loop turns again, the thread stops sending, and a later stall makes it send again', async () => {
  const { pass, epochs, opened, closed } = watched()
  await pass(6_000)
  const before = epochs.length
  await pass(10_000, { turning: true })
  expect([epochs.length, closed()]).toEqual([before, 1])
  await pass(6_000)
  expect(epochs.length).toBeGreaterThan(before)
  expect(opened()).toBe(2)
})

test('if a rebalance during the stall changes the epoch, the thread continues with the new epoch and reports it', async () => {
  const { pass, epochs, beats } = watched([
    { type: 'kept', epoch: 4 },
    { type: 'kept', epoch: 6 },
  ])
  await pass(8_000)
  expect(epochs).toEqual([4, 4, 6, 6])
  expect(beats.epoch).toBe(6)
})

test('if the member passes a later epoch to the thread while a heartbeat is unanswered, the answer does not restore the earlier epoch', async () => {
  const { pass, watch, beats, epochs, holdAnswers } = watched()
  const answer = holdAnswers()
  await pass(3_000)
  watch.keep(1, { ...SESSION, epoch: 7 }, beats.memory)
  answer()
  await pass(5_000, { turning: true })
  await pass(3_000)
  expect(epochs).toEqual([4, 7])
})

test('the next check retries a heartbeat that has failed, without waiting for the heartbeat interval', async () => {
  const { pass, times, beats } = watched([{ type: 'again' }, 'throws', { type: 'kept', epoch: 4 }])
  await pass(5_000)
  expect(times).toEqual([2_000, 3_000, 4_000])
  expect(beats.count).toBe(1)
})

test('after the group has refused a heartbeat of a member, the thread sends no more heartbeats for this member during the stall', async () => {
  const { pass, epochs, beats } = watched([{ type: 'lost' }])
  await pass(20_000)
  expect([epochs.length, beats.count]).toEqual([1, 0])
})

test('the thread sends no heartbeats for a member that was released', async () => {
  const { pass, watch, epochs } = watched()
  watch.release(1)
  await pass(20_000)
  expect([epochs, watch.isEmpty]).toEqual([[], true])
})
