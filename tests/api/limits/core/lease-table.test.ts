import { expect, test } from 'vitest'
import { leaseTable } from '../../../../api/limits/core/lease-table.ts'

const COUNTER = { key: 'limits:{caller}:rule', tag: 'caller', limit: { limit: 1_000, windowSeconds: 60, burst: 0 } }
const ASK = { mode: 'hard', counter: COUNTER, units: 1 } as const

test('a counter is tracked from its third request between two sweeps; a request that is decided again is not counted again', () => {
  const { countRequest, startInterval } = leaseTable()
  const isTracked = (isNew: boolean) => countRequest(ASK, 0, isNew) !== undefined
  expect([true, true].map(isTracked)).toEqual([false, false])
  expect([false, false].map(isTracked)).toEqual([false, false])
  startInterval()
  expect([true, false, true, false, true, false].map(isTracked)).toEqual([false, false, false, false, true, true])
})
