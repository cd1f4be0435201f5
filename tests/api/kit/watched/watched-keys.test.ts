import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WatchedKeys } from '../../../../api/kit/watched/watched-keys.ts'

/** Returns a reader that returns its own name for every key. */
function readerNamed(name: string) {
  return { get: async () => name, getBuffer: async () => Buffer.from(name), hgetall: async () => ({ name }) }
}

function opened() {
  const state = { now: 1_000, asked: 0, answer: async () => {} }
  const keys = new WatchedKeys({
    unwatched: readerNamed('unwatched'),
    watched: readerNamed('watched'),
    reported: () => {
      state.asked++
      return state.answer()
    },
    now: () => state.now,
  })
  return { state, keys }
}

/** Begins a read of three keys. */
async function readOf(keys: WatchedKeys) {
  const read = keys.begin()
  await Promise.all([read.get('text'), read.getBuffer('bytes'), read.hgetall('hash')])
  return read
}

/** Triggers a confirmation, and returns the time up to which it confirms the read. */
async function confirmed(read: { unchangedAt(): number | undefined }): Promise<number | undefined> {
  read.unchangedAt()
  await setImmediate()
  return read.unchangedAt()
}

test('reads are not watched before Redis reports changes', async () => {
  const { keys, state } = opened()
  const read = keys.begin()
  expect(await read.get('text')).toBe('unwatched')
  expect(read.unchangedAt()).toBeUndefined()
  keys.start()
  expect(read.unchangedAt()).toBeUndefined()
  expect(state.asked).toBe(0)
})

test('a confirmation confirms a read up to the time at which the confirmation was requested', async () => {
  const { keys, state } = opened()
  keys.start()
  const read = await readOf(keys)
  expect(await read.get('more')).toBe('watched')
  expect(read.unchangedAt()).toBe(Number.NEGATIVE_INFINITY)
  state.now = 1_100
  await setImmediate()
  expect(read.unchangedAt()).toBe(1_000)
  expect(state.asked).toBe(1)
  state.now = 1_300
  expect(read.unchangedAt()).toBe(1_000)
  await setImmediate()
  expect(read.unchangedAt()).toBe(1_300)
  expect(state.asked).toBe(2)
})

test.each(['text', 'bytes', 'hash'])(
  'after a change of the %s, only the reads that contain it no longer count as unchanged',
  async (key) => {
    const { keys } = opened()
    keys.start()
    const [read, same] = [await readOf(keys), await readOf(keys)]
    const other = keys.begin()
    await other.get('other')
    keys.changed(key)
    expect(await confirmed(other)).toBe(1_000)
    expect(read.unchangedAt()).toBeUndefined()
    expect(same.unchangedAt()).toBeUndefined()
    expect(await confirmed(await readOf(keys))).toBe(1_000)
  },
)

test('a read does not count as unchanged if a change is reported before its value arrives', async () => {
  const { keys } = opened()
  keys.start()
  const read = keys.begin()
  const value = read.get('text')
  keys.changed('text')
  await value
  expect(read.unchangedAt()).toBeUndefined()
})

test.each<[string, (keys: WatchedKeys) => void]>([
  ['everything may have changed', (keys) => keys.changedAll()],
  [
    'changes were missed',
    (keys) => {
      keys.stop()
      keys.start()
    },
  ],
])('when %s, no earlier read still counts as unchanged', async (_what, happen) => {
  const { keys } = opened()
  keys.start()
  const read = await readOf(keys)
  const begun = keys.begin()
  expect(await confirmed(read)).toBe(1_000)
  happen(keys)
  await begun.get('late')
  expect(read.unchangedAt()).toBeUndefined()
  expect(begun.unchangedAt()).toBeUndefined()
  expect(await confirmed(await readOf(keys))).toBe(1_000)
})

test('a confirmation confirms nothing if it fails, or if everything may have changed since it was requested', async () => {
  const { keys, state } = opened()
  keys.start()
  const read = await readOf(keys)
  state.answer = () => Promise.reject(new Error('closed'))
  expect(await confirmed(read)).toBe(Number.NEGATIVE_INFINITY)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answer = () => promise
  await setImmediate()
  read.unchangedAt()
  keys.changedAll()
  resolve()
  const next = await readOf(keys)
  await setImmediate()
  state.answer = () => Promise.reject(new Error('closed'))
  expect(await confirmed(next)).toBe(Number.NEGATIVE_INFINITY)
})

test('a read that begins after reports have ended is not watched', async () => {
  const { keys } = opened()
  keys.start()
  keys.stop()
  const read = keys.begin()
  expect(await read.get('text')).toBe('unwatched')
  expect(read.unchangedAt()).toBeUndefined()
  keys.changedAll()
  expect(keys.begin().unchangedAt()).toBeUndefined()
})

test('after the clock was set back, a confirmation is requested at once, and its time is not in the future', async () => {
  const { keys, state } = opened()
  state.now = 3_600_000
  keys.start()
  const read = await readOf(keys)
  expect(await confirmed(read)).toBe(3_600_000)
  state.now = 1_000
  expect(await confirmed(read)).toBe(1_000)
  expect(state.asked).toBe(2)
})
