import { expect, test } from 'vitest'
import { earlierAfter, rankChanges } from '../../../pipelines/trends/rank-changes.ts'
import type { TrendingSince } from '../../../schemas/trends/types.ts'

const MINUTE = 60_000
/** The start of a period of ten minutes. */
const START = 1_000 * MINUTE

function region() {
  let earlier: TrendingSince['earlier'] = []
  return {
    get earlier() {
      return earlier
    },
    list(served: readonly string[], minute: number) {
      const changes = Object.fromEntries(
        rankChanges(
          earlier,
          served.map((term) => [term]),
          START + minute * MINUTE,
        ),
      )
      earlier = earlierAfter(earlier, served, START + minute * MINUTE)
      return changes
    },
  }
}

test('ranks are compared with the first list of the previous period of ten minutes', () => {
  const { list } = region()
  expect(list(['a', 'b', 'c'], 0)).toEqual({})
  expect(list(['c', 'b', 'a'], 9.5)).toEqual({})
  expect(list(['c', 'b', 'new'], 10)).toEqual({ c: 2, b: 0 })
  expect(list(['b', 'new', 'c', 'a'], 19.5)).toEqual({ b: 1, c: 0, a: -3 })
  expect(list(['new', 'b'], 20)).toEqual({ new: 2, b: 0 })
})

test('the first list in a period of ten minutes counts even if it comes late, and empty lists do not count', () => {
  const { list } = region()
  list([], 0)
  list(['a', 'b'], 4)
  expect(list(['b', 'a'], 13)).toEqual({ b: 1, a: -1 })
  expect(list(['a', 'b'], 34)).toEqual({})
})

test('at most one list is stored per period of ten minutes, and none remains after a period without terms', () => {
  const silent = region()
  silent.list(['a'], 0)
  const { earlier } = silent
  silent.list(['b'], 9)
  silent.list([], 19)
  expect(silent.earlier).toBe(earlier)
  silent.list([], 20)
  expect(silent.earlier).toEqual([])
})
