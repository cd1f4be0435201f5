import { expect, test } from 'vitest'
import { visitStream } from '../../../../tools/demo/recommendations/stream.ts'

const START = Date.UTC(2026, 0, 1)

test('the same seed gives the same visits; the first event requests a list, and visits mostly stay within one group of items', () => {
  const shelves = [
    ['1', '2', '3'],
    ['4', '5', '6'],
  ]
  const draw = () => {
    const { next } = visitStream({ seed: 7, rate: 2, startAt: START, shelves })
    return Array.from({ length: 400 }, () => next())
  }
  const events = draw()
  expect(draw()).toEqual(events)
  expect(events[0]).toMatchObject({ kind: 'list', at: START + 500 })
  expect(events.filter(({ kind, itemId }) => kind !== 'list' && !shelves.flat().includes(itemId))).toEqual([])
  const switches = events.filter(({ kind, itemId, user }, index) => {
    const before = events[index - 1]
    if (index === 0 || kind === 'list' || before.kind === 'list' || before.user !== user) return false
    return shelves[0].includes(itemId) !== shelves[0].includes(before.itemId)
  })
  expect(switches.length).toBeLessThan(events.length / 4)
})
