import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { type TopKStore, topKStore } from '../../../state/stores/top-k-store.ts'
import {
  openStore,
  PARTITION,
  PROPERTY_TIMEOUT_MS,
  propertyRuns,
  storedRows,
  type TestBackend,
  testBackends,
  testChangelog,
} from './harness.ts'

const STORE = 'leaders'
const K = 3
const CACHED_OBJECTS = 2
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

/** Ties: the smaller term first. */
function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || (a.term < b.term ? -1 : a.term > b.term ? 1 : 0)
}

type Step =
  | { do: 'add'; group: string; term: string; score: number }
  | { do: 'remove'; group: string; term: string }
  | { do: 'list' | 'delete'; group: string }
  | { do: 'commit' | 'abort' | 'reopen' }

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
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('commit' as const, 'abort' as const, 'reopen' as const) }) },
)

type Model = Map<string, Ranked[]>

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () =>
    openStore(topKStore(STORE, { group: utf8, list, k: K, id: (item) => item.term, compare: byScore }), opened.backend, CACHED_OBJECTS)
  let store: TopKStore<string, Ranked> = open()
  const changelog = testChangelog()
  let current: Model = new Map()
  let committed: Model = new Map()

  function set(group: string, items: Ranked[]): void {
    if (items.length > 0) current.set(group, items)
    else current.delete(group)
  }
  function abort(): void {
    opened.session.dropBatch()
    store.discard()
    changelog.abort()
    current = new Map(committed)
  }

  for (const step of steps) {
    switch (step.do) {
      case 'add': {
        const others = (current.get(step.group) ?? []).filter(({ term }) => term !== step.term)
        const item = { term: step.term, score: step.score }
        const best = [...others, item].sort(byScore).slice(0, K)
        expect(store.add(step.group, item)).toBe(best.includes(item))
        set(step.group, best)
        break
      }
      case 'remove': {
        const items = current.get(step.group) ?? []
        const rest = items.filter(({ term }) => term !== step.term)
        expect(store.remove(step.group, step.term)).toBe(rest.length < items.length)
        set(step.group, rest)
        break
      }
      case 'list':
        expect(store.list(step.group)).toEqual(current.get(step.group) ?? [])
        break
      case 'delete':
        store.delete(step.group)
        current.delete(step.group)
        break
      case 'commit':
        store.flush(changelog)
        changelog.commit()
        opened.session.write()
        store.committed()
        committed = new Map(current)
        expect(storedRows(opened.backend, STORE)).toEqual(changelog.rows)
        break
      case 'abort':
        abort()
        break
      case 'reopen':
        abort()
        await opened.reopen()
        store = open()
        break
    }
    expect([...store.groups()]).toEqual([...current.keys()].sort())
  }
}

for (const openBackend of testBackends) {
  test(
    `the K best are those of a sorted list (${openBackend.name})`,
    async () => {
      const opened = await openBackend()
      try {
        await fc.assert(
          fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 80, size: 'max' }), async (steps) => {
            opened.session.clear(STORE, PARTITION)
            await runAgainstModel(opened, steps)
          }),
          { numRuns: propertyRuns(opened) },
        )
      } finally {
        await opened.remove()
      }
    },
    PROPERTY_TIMEOUT_MS,
  )
}
