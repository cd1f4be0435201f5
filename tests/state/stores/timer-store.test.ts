import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { timerStore } from '../../../state/stores/timer-store.ts'
import { openStore, type TestBackend, testBackends, testChangelog } from './harness.ts'
import { type LifeStep, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'expiries'
/** Cache size with room for only a few objects. */
const CACHE_BYTES = 900
const someKeys = ['a', 'aa', 'b', 'c', 'd', 'e', 'f']
const keyArbitrary = fc.constantFrom(...someKeys)
const timeArbitrary = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(1e12, 2 ** 53 - 1))

type Step =
  | { do: 'schedule'; key: string; due: number }
  | { do: 'cancel' | 'dueTime'; key: string }
  | { do: 'due' | 'takeDue'; now: number; limit: number }
  | LifeStep

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('schedule' as const), key: keyArbitrary, due: timeArbitrary }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'dueTime' as const), key: keyArbitrary }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('due' as const, 'takeDue' as const),
      now: timeArbitrary,
      limit: fc.constantFrom(0, 1, 2, 3, 100),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('flush' as const, 'commit' as const, 'commit' as const, 'abort' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)

function dueTimers(model: ReadonlyMap<string, number>, now: number, limit: number): { key: string; due: number }[] {
  return [...model]
    .filter(([, due]) => due <= now)
    .map(([key, due]) => ({ key, due }))
    .sort((a, b) => a.due - b.due || Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
    .slice(0, limit)
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () => openStore(timerStore(STORE, { key: utf8 }), opened.backend, CACHE_BYTES)
  const both = modelled(opened, open, new Map<string, number>(), (model) => new Map(model))

  for (const step of steps) {
    switch (step.do) {
      case 'schedule':
        both.store.schedule(step.key, step.due)
        both.current.set(step.key, step.due)
        break
      case 'cancel':
        both.store.cancel(step.key)
        both.current.delete(step.key)
        break
      case 'dueTime':
        expect(both.store.dueTime(step.key)).toBe(both.current.get(step.key))
        break
      case 'due':
        expect(both.store.due(step.now, step.limit)).toEqual(dueTimers(both.current, step.now, step.limit))
        break
      case 'takeDue': {
        const expected = dueTimers(both.current, step.now, step.limit)
        expect(both.store.takeDue(step.now, step.limit)).toEqual(expected)
        for (const { key } of expected) both.current.delete(key)
        break
      }
      default:
        await both.live(step)
        // Each timer has exactly two rows: one by its key, and one by its time.
        if (step.do === 'commit') expect(both.changelog.rows.size).toBe(2 * both.committed.size)
    }
  }
  await both.live({ do: 'abort' })
  expect(both.store.due(Number.MAX_SAFE_INTEGER, 1000)).toEqual(dueTimers(both.committed, Number.MAX_SAFE_INTEGER, 1000))
}

testAgainstModel('timers become due in the same order as in a sorted list with transactions', STORE, stepArbitrary, runAgainstModel)

for (const open of testBackends) {
  test.each([Infinity, 2 ** 31, 2 ** 32])(`all due timers are found with the limit %s on ${open.name}`, async (limit) => {
    const opened = await open()
    const store = openStore(timerStore(STORE, { key: utf8 }), opened.backend)
    for (const key of someKeys) store.schedule(key, 5)
    store.flush(undefined)
    opened.session.write()
    store.committed()
    expect(store.takeDue(5, limit).map(({ key }) => key)).toEqual(someKeys)
    await opened.remove()
  })
}

test('a timer that is moved a hundred times writes its rows once per commit', async () => {
  const opened = await testBackends[0]()
  const store = openStore(timerStore(STORE, { key: utf8 }), opened.backend)
  const changelog = testChangelog()
  for (let due = 0; due < 100; due++) store.schedule('a', due)
  store.flush(changelog)
  expect(changelog.appended).toBe(2)
})

test('a timer that is set and cancelled between commits writes nothing', async () => {
  const opened = await testBackends[0]()
  const store = openStore(timerStore(STORE, { key: utf8 }), opened.backend)
  const changelog = testChangelog()
  store.schedule('a', 5)
  store.cancel('a')
  store.flush(changelog)
  expect(changelog.appended).toBe(0)
})

test.each([-1, 0.5, Number.NaN, Infinity])('%s is refused as a time', async (time) => {
  const opened = await testBackends[0]()
  const store = openStore(timerStore(STORE, { key: utf8 }), opened.backend)
  expect(() => store.schedule('a', time)).toThrow(RangeError)
})
