import { expect, test } from 'vitest'
import { copyFaults } from './copies.ts'

const log = (key: string, ...ids: string[]) => ids.map((value) => ({ key, value }))

test('copies are right if each partition has its orders once and in order, even with orders of other partitions in between', () => {
  const orders = [log('0', 'a', 'b'), log('1', 'c')]
  expect(copyFaults(orders, [[...log('0', 'a'), ...log('1', 'c'), ...log('0', 'b')]])).toEqual([])
})

test.each([
  { what: 'a lost order', copies: log('0', 'a'), fault: 'orders of partition 0, copy 2: missing instead of b' },
  { what: 'an order that is copied twice', copies: log('0', 'a', 'a', 'b'), fault: 'orders of partition 0, copy 2: a instead of b' },
  { what: 'a copy without an order', copies: log('0', 'a', 'b', 'x'), fault: 'orders of partition 0, copy 3: x instead of nothing' },
])('$what is found', ({ copies, fault }) => {
  expect(copyFaults([log('0', 'a', 'b')], [copies])).toEqual([fault])
})
