import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { type SwipeNotes, swipeNotes } from '../../../api/matches/swipe-notes.ts'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import { TAKE_REWIND, TAKE_SWIPE } from '../../../state/views/matches/take-swipe.ts'
import { userKeys } from '../../../state/views/matches/users.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { ANN, BOB, CAT, swipe } from '../../pipelines/matches/swipes.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const UNREACHABLE = 'Redis is unreachable'
/** Returns the error that callers get. Its cause says what is wrong with Redis. */
const unavailable = () => new ApiError(errors.unavailable, { message: 'Try again shortly.', cause: new Error(UNREACHABLE) })

/** Creates swipe notes on a Redis that a test can make unavailable, with a spool that contains the given swipes. */
function world(spooled: readonly SwipeEvent[] = []) {
  const state = { isDown: false, downPartition: -1 }
  const run: { script: string; key: string; target: unknown; below: unknown }[] = []
  const scripts: ViewScripts = {
    async run({ name }, [key], args) {
      if (state.isDown || userKeys(state.downPartition, ANN).recent === key) throw unavailable()
      run.push({ script: name, key, target: args[4], below: args[8] })
      return name === TAKE_SWIPE.name ? [1, 1] : 1
    },
  }
  const logged: Record<string, unknown>[] = []
  const facts = {
    async *spooled() {
      for (const value of spooled) yield { key: value.swiper_id as never, value: value as never }
    },
  }
  const notes: SwipeNotes = swipeNotes({
    scripts,
    facts,
    log: createLogger('info', { write: (line) => void logged.push(JSON.parse(line)) }),
    keysOf: (userId) => userKeys(Number(userId === ANN), userId),
  })
  onTestFinished(() => notes.close())
  return { state, run, notes, logged }
}

/** Returns the logged lines without their level and time. */
function warnings(logged: readonly Record<string, unknown>[]) {
  return logged.map(({ level: _level, time: _time, ...fields }) => fields)
}

const at = 1_700_000_000_000
const made = (targetId: string, direction = 'LEFT', later = 0) => ({ swipeId: `${targetId}-${later}`, targetId, direction, at: at + later })

test('a swipe that Redis does not accept counts in this process, and is noted as soon as Redis is back', async () => {
  const { state, run, notes } = world()
  state.isDown = true
  expect(await notes.swiped(ANN, made(BOB), 'match')).toEqual({ isRefillClaimed: false, isLiked: false })
  await notes.rewound(ANN, made(BOB, 'REWIND', 1))
  expect(notes.pendingOf(ANN).map(({ direction }) => direction)).toEqual(['LEFT', 'REWIND'])
  await vi.advanceTimersByTimeAsync(2 * SECOND_MS)
  expect(notes.pendingOf(ANN)).toHaveLength(2)
  state.isDown = false
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect(notes.pendingOf(ANN)).toEqual([])
  expect(run.map(({ script }) => script)).toEqual([TAKE_SWIPE.name, TAKE_REWIND.name])
  // A later attempt to note a swipe must not claim the refill of a stack, because it does not send the refill request.
  expect(run[0].below).toBe(0)
})

test('spooled swipes are noted every minute, in case Redis was emptied', async () => {
  const { run, notes, state } = world([swipe(ANN, BOB, 'LEFT', at), swipe(CAT, BOB, 'RIGHT', at), swipe(ANN, BOB, 'REWIND', at + 1)])
  await vi.advanceTimersByTimeAsync(MINUTE_MS - 1)
  expect(run).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(run.map(({ script, key }) => [script, key])).toEqual([
    [TAKE_SWIPE.name, userKeys(1, ANN).recent],
    [TAKE_SWIPE.name, userKeys(0, CAT).recent],
    [TAKE_REWIND.name, userKeys(1, ANN).recent],
  ])
  state.isDown = true
  await vi.advanceTimersByTimeAsync(MINUTE_MS)
  state.isDown = false
  await vi.advanceTimersByTimeAsync(MINUTE_MS)
  expect(run).toHaveLength(6)
  expect(notes.pendingOf(ANN)).toEqual([])
})

test("while one shard of Redis is down, notes of users on other shards are stored, and the order of each user's notes is kept", async () => {
  const { run, notes, state } = world([swipe(ANN, BOB, 'LEFT', at), swipe(CAT, BOB, 'RIGHT', at)])
  state.isDown = true
  await notes.swiped(ANN, made(BOB), 'queued')
  await notes.rewound(ANN, made(BOB, 'REWIND', 1))
  await notes.swiped(CAT, made(BOB), 'queued')
  state.isDown = false
  state.downPartition = 1
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect([notes.pendingOf(ANN).length, notes.pendingOf(CAT)]).toEqual([2, []])
  await vi.advanceTimersByTimeAsync(MINUTE_MS)
  expect(new Set(run.map(({ key }) => key))).toEqual(new Set([userKeys(0, CAT).recent]))
  run.length = 0
  state.downPartition = -1
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect(run.map(({ script }) => script)).toEqual([TAKE_SWIPE.name, TAKE_REWIND.name])
  expect(notes.pendingOf(ANN)).toEqual([])
})

test('at most 10,000 notes wait for Redis', async () => {
  const { state, notes, logged } = world()
  state.isDown = true
  for (let index = 0; index < 10_001; index++) await notes.swiped(ANN, made(`${index}`), 'queued')
  expect(notes.pendingOf(ANN)).toHaveLength(10_000)
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect(warnings(logged)).toContainEqual({ event: 'swipe_not_noted', swipes: 10_000, dropped: 1, waiting: 10_000, reason: UNREACHABLE })
})

test('during an outage of Redis, at most one line a second about swipes that were not noted is logged, and no line per repeated attempt', async () => {
  const { state, notes, logged } = world()
  state.isDown = true
  for (let second = 0; second < 60; second++) {
    for (const target of [BOB, CAT]) await notes.swiped(ANN, made(target, 'LEFT', second), 'queued')
    await vi.advanceTimersByTimeAsync(SECOND_MS)
  }
  state.isDown = false
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  const lines = warnings(logged)
  const aboutSwipes = lines.filter(({ event }) => event === 'swipe_not_noted')
  expect(aboutSwipes.length).toBeLessThanOrEqual(61)
  expect(aboutSwipes.reduce((sum, { swipes }) => sum + (swipes as number), 0)).toBe(120)
  expect(lines.filter(({ event }) => event !== 'swipe_not_noted')).toEqual([
    { event: 'swipe_notes_wait', waiting: 2, reason: UNREACHABLE },
    { event: 'swipe_notes_go_on', waiting: 0 },
  ])
})
