import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { topKStore } from '../../../state/stores/top-k-store.ts'
import { openStore, type TestBackend } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'leaders'
const K = 3
/** Cache size with room for only a few objects. */
const CACHE_BYTES = 500
const groupArbitrary = fc.constantFrom('x', 'y', 'z')
const termArbitrary = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')

interface Ranked {
  term: string
  score: number
}

const list = avroValue<Ranked[]>({
  type: 'array',
  items: {
    type: 'record',
    name: 'Ranked',
    fields: [
      { name: 'term', type: 'string' },
      { name: 'score', type: 'double' },
    ],
  },
})

/** Sorts entries by score, highest first, and then by term. */
function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || (a.term < b.term ? -1 : a.term > b.term ? 1 : 0)
}

type Step =
  | { do: 'add'; group: string; term: string; score: number }
  | { do: 'remove'; group: string; term: string }
  | { do: 'list' | 'delete'; group: string }
  | LifeStep

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      group: groupArbitrary,
      term: termArbitrary,
      score: fc.integer({ min: 0, max: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), group: groupArbitrary, term: termArbitrary }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('list' as const, 'list' as const, 'delete' as const), group: groupArbitrary }) },
  { weight: 3, arbitrary: lifeSteps },
)

type Model = Map<string, Ranked[]>

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () =>
    openStore(topKStore(STORE, { group: utf8, list, k: K, id: (item) => item.term, compare: byScore }), opened.backend, CACHE_BYTES)
  const both = modelled(opened, open, new Map() as Model, (model) => new Map(model))

  function set(group: string, items: Ranked[]): void {
    if (items.length > 0) both.current.set(group, items)
    else both.current.delete(group)
  }

  for (const step of steps) {
    switch (step.do) {
      case 'add': {
        const others = (both.current.get(step.group) ?? []).filter(({ term }) => term !== step.term)
        const item = { term: step.term, score: step.score }
        const best = [...others, item].sort(byScore).slice(0, K)
        expect(both.store.add(step.group, item)).toBe(best.includes(item))
        set(step.group, best)
        break
      }
      case 'remove': {
        const items = both.current.get(step.group) ?? []
        const rest = items.filter(({ term }) => term !== step.term)
        expect(both.store.remove(step.group, step.term)).toBe(rest.length < items.length)
        set(step.group, rest)
        break
      }
      case 'list':
        expect(both.store.list(step.group)).toEqual(both.current.get(step.group) ?? [])
        break
      case 'delete':
        both.store.delete(step.group)
        both.current.delete(step.group)
        break
      default:
        await both.live(step)
    }
    expect([...both.store.groups()]).toEqual([...both.current.keys()].sort())
  }
}

testAgainstModel('the K best entries equal those of a sorted list', STORE, stepArbitrary, runAgainstModel)

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('a list of the %d best entries is refused', (k) => {
  expect(() => topKStore(STORE, { group: utf8, list, k, id: (item) => item.term, compare: byScore })).toThrow(
    'k must be a positive integer',
  )
})
