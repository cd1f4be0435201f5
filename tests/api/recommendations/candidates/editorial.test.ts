import { expect, test } from 'vitest'
import { boostByEditors, placedByEditors } from '../../../../api/recommendations/candidates/editorial.ts'
import type { EditorialList } from '../../../../schemas/recommendations/types.ts'

const START = Date.UTC(2026, 0)
const END = START + 1_000

function editorial(list: Partial<EditorialList>): EditorialList {
  const rule = { factor: null, max_age_days: null }
  return { kind: 'LIST', item_ids: [], contexts: [], ...rule, starts_at: START, ends_at: END, updated_at: 0, ...list }
}

test('items younger than 30 days get a boost of 1.1; if the editors have set a rule, only this rule applies, from its start to its end', () => {
  expect(boostByEditors(new Map(), START)).toEqual({ factor: 1.1, maxAgeDays: 30 })
  const rule = editorial({ kind: 'NEW_RELEASE_BOOST', factor: 2, max_age_days: 7 })
  const boostAt = (time: number) => boostByEditors(new Map([['new-releases', rule]]), time)
  expect([START - 1, START, END - 1, END].map(boostAt)).toEqual([
    undefined,
    { factor: 2, maxAgeDays: 7 },
    { factor: 2, maxAgeDays: 7 },
    undefined,
  ])
})

test.each([
  ['factor', Number.NaN],
  ['factor', -1],
  ['factor', Number.POSITIVE_INFINITY],
  ['max_age_days', Number.NaN],
])('a rule that another program has stored with the %s %s is ignored, because new items could vanish from lists', (name, value) => {
  const rule = editorial({ kind: 'NEW_RELEASE_BOOST', factor: 2, max_age_days: 7, [name]: value })
  expect(boostByEditors(new Map([['new-releases', rule]]), START)).toEqual({ factor: 1.1, maxAgeDays: 30 })
})

test('an editorial list applies from its start to its end, in all contexts or in those that it names', () => {
  const lists = new Map([
    ['everywhere', editorial({ item_ids: [1n, 2n] })],
    ['on product pages', editorial({ item_ids: [3n], contexts: ['product_page'] })],
  ])
  const placed = (context: 'homepage' | 'product_page', time: number) => [...placedByEditors(lists, context, time)]
  expect(placed('homepage', START)).toEqual([1n, 2n])
  expect(placed('product_page', START)).toEqual([1n, 3n, 2n])
  expect([placed('product_page', START - 1), placed('product_page', END)]).toEqual([[], []])
})
