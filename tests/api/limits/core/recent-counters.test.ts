import { expect, test } from 'vitest'
import { recentCounters } from '../../../../api/limits/core/recent-counters.ts'

const keyOf = (caller: number) => `limits:{ip:10.${caller >> 16}.${(caller >> 8) & 255}.${caller & 255}}:snippets-create:w60`

test('fewer than 30 of 200,000 counters are mistaken for another, and more than 98 % of the newest 1,000 are known', () => {
  const recent = recentCounters()
  for (let caller = 0; caller < 200_000; caller++) recent.set(keyOf(caller), caller, 2 * caller, 3 * caller)
  let known = 0
  let mistaken = 0
  for (let caller = 0; caller < 200_000; caller++) {
    const found = recent.find(keyOf(caller))
    if (found === undefined) continue
    known++
    if (found.held !== caller || found.heldBefore !== 2 * caller || found.atUs !== 3 * caller) mistaken++
  }
  expect(known).toBeGreaterThan(55_000)
  // The slots of 137,000 callers now contain another caller. The probability of mistaking one for the other is 1 in
  // 65,536, so about two mistakes are expected.
  expect(mistaken).toBeLessThan(30)
  const newest = Array.from({ length: 1_000 }, (_, index) => recent.find(keyOf(199_999 - index))).filter((found) => found !== undefined)
  expect(newest.length).toBeGreaterThan(980)
})

test('when a counter is forgotten, the counter that has replaced it is kept', () => {
  const recent = recentCounters(1)
  recent.set('one', 1, 0, 0)
  expect(recent.find('one')).toEqual({ held: 1, heldBefore: 0, atUs: 0 })
  recent.set('other', 2, 0, 0)
  expect(recent.find('one')).toBeUndefined()
  recent.forget('one')
  expect(recent.find('other')).toEqual({ held: 2, heldBefore: 0, atUs: 0 })
  recent.forget('other')
  expect(recent.find('other')).toBeUndefined()
})
