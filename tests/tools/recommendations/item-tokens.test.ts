import { expect, test } from 'vitest'
import { itemTokens } from '../../../tools/recommendations/train/item-tokens.ts'

const TITLES = new Map([
  [1n, 'Iron kettle number 17'],
  [2n, 'Iron pan number 18'],
  [3n, 'Copper kettle number 19'],
  [4n, 'Iron kettle number 20'],
])

function contentOf(itemId: bigint) {
  const title = TITLES.get(itemId)
  return title === undefined ? undefined : { title, categoryPath: '', attributes: {} }
}

/** Returns the names of the tokens of each row. */
function namesByRow({ names, numbers, starts }: ReturnType<typeof itemTokens>): string[][] {
  return Array.from({ length: starts.length - 1 }, (_, row) =>
    Array.from(numbers.subarray(starts[row], starts[row + 1]), (at) => names[at]),
  )
}

test('only tokens that several items share get a number', () => {
  const tokens = itemTokens([1n, 2n, 3n, 4n, 5n], contentOf)
  expect(tokens.names).toEqual(['title:number', 'title:iron', 'title:kettle'])
  expect(namesByRow(tokens)).toEqual([
    ['title:iron', 'title:kettle', 'title:number'],
    ['title:iron', 'title:number'],
    ['title:kettle', 'title:number'],
    ['title:iron', 'title:kettle', 'title:number'],
    [],
  ])
})

test('above the maximum number of tokens, the most frequent ones remain', () => {
  const tokens = itemTokens([1n, 2n, 3n, 4n], contentOf, 1)
  expect(namesByRow(tokens)).toEqual(Array(4).fill(['title:number']))
})

test('items without content have no tokens, and the list of names then contains a placeholder', () => {
  expect(itemTokens([8n, 9n], contentOf)).toMatchObject({ names: ['none'], starts: Uint32Array.of(0, 0, 0) })
})
