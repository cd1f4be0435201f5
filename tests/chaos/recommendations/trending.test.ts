import { expect, test } from 'vitest'
import type { ItemEvent } from '../../../schemas/recommendations/types.ts'
import type { Evidence } from './evidence.ts'
import { trending } from './trending.ts'

const NOW = 1_800_000_000_000
const HOUR = 3_600_000

function event(weight: number, at: number): ItemEvent {
  return { event_type: 'CLICK', weight, at, is_chosen: false, rating: null, country: null, age_bucket: null }
}

/** Judges a published list against events of two items. */
function judged(itemIds: readonly bigint[], events: Readonly<Record<string, readonly ItemEvent[]>>): string[] {
  const allItemEvents = Object.entries(events).map(([key, own], offset) => {
    return { key, offset, value: { events: [...own], near: [], entered: [], shown: [] } }
  })
  const count = Object.values(events)
    .flat()
    .reduce((sum, { at }) => sum + 2 ** ((at - NOW) / (6 * HOUR)), 0)
  const published = new Map([['all', { at: NOW, events: count, item_ids: [...itemIds] }]])
  const logs = { trending: published, allItemEvents } as unknown as Evidence['logs']
  return trending({ logs, judgesTrending: true } as Evidence)
}

test('a list must have the order of the weights', () => {
  const events = { 1: [event(1, NOW)], 2: [event(0.9, NOW)] }
  expect(judged([1n, 2n], events)).toEqual([])
  expect(judged([2n, 1n], events)).toEqual(['the trending items of all are not ranked by their weights: 2,1'])
  expect(judged([1n], events)).toEqual(['the trending items of all are not ranked by their weights: 1'])
})

test('the order may lack an amount that the service has forgotten', () => {
  const old = event(0.5, NOW - 56 * HOUR)
  const events = { 1: [event(0.9742, NOW)], 2: [event(0.9736, NOW), old] }
  expect(judged([2n, 1n], events)).toEqual([])
  expect(judged([1n, 2n], events)).toEqual([])
})
