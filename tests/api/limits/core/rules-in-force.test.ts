import { expect, test } from 'vitest'
import { rulesInForce } from '../../../../api/limits/core/rules-in-force.ts'
import { ruleOf } from '../../../../schemas/limit-rule.ts'
import type { LimitRule } from '../../../../schemas/limits/types.ts'

const CALLER = { clientId: 'acme', tier: 'free', ip: '' }

/** Creates a rule set with manual scheduling, and counts how often all rules are compiled. */
function settings() {
  const rules = new Map<string, LimitRule>()
  const waiting = new Set<() => void>()
  const state = { compiled: 0 }
  const inForce = rulesInForce({
    allRules() {
      state.compiled++
      return rules.values()
    },
    schedule(run) {
      waiting.add(run)
      return () => void waiting.delete(run)
    },
  })
  function put(limit: number, endpoint_pattern = '*'): void {
    rules.set('one', ruleOf({ rule_id: 'one', endpoint_pattern, limit_count: limit, window_seconds: 60 }))
    inForce.changed()
  }
  function later(): void {
    for (const run of waiting) {
      waiting.delete(run)
      run()
    }
  }
  const limit = (path = '/a') => inForce.table()?.match('GET', path, CALLER)[0]?.rule.limit_count
  return { inForce, state, waiting, put, later, limit }
}

test('no rules are in force until all of them are read', () => {
  const { inForce, state, waiting, put, limit } = settings()
  put(1)
  expect([inForce.table(), waiting.size, state.compiled]).toEqual([undefined, 0, 0])
  inForce.ready()
  expect([limit(), inForce.isCurrent]).toEqual([1, true])
})

test('changes that arrive together are compiled together, outside of requests', () => {
  const { inForce, state, put, later, limit } = settings()
  inForce.ready()
  for (let change = 1; change <= 100; change++) {
    put(change)
    expect([limit(), inForce.isCurrent]).toEqual([undefined, false])
  }
  expect(state.compiled).toBe(1)
  later()
  expect([limit(), inForce.isCurrent, state.compiled]).toEqual([100, true, 2])
  put(101)
  later()
  expect([limit(), state.compiled]).toEqual([101, 3])
})

test('a pattern that an earlier release stored in another encoding applies to normalised paths', () => {
  const { inForce, put, limit } = settings()
  put(1, 'GET /a/%7Euser%2fx')
  inForce.ready()
  expect(limit('/a/~user%2Fx')).toBe(1)
})

test('nothing is compiled after closing', () => {
  const { inForce, waiting, put } = settings()
  inForce.ready()
  put(1)
  inForce.close()
  expect(waiting.size).toBe(0)
})
