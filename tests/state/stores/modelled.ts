import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EngineStore } from '../../../state/stores/store.ts'
import {
  PARTITION,
  PROPERTY_TIMEOUT_MS,
  propertyRuns,
  storedRows,
  type TestBackend,
  type TestChangelog,
  testBackends,
  testChangelog,
} from './harness.ts'

const MAX_STEPS = 80

/** A step in the life of a store. The engine runs these operations on every store. */
export type LifeStep = { do: 'flush' | 'commit' | 'abort' | 'reopen' }

export const lifeSteps: fc.Arbitrary<LifeStep> = fc.record({
  do: fc.constantFrom('flush' as const, 'commit' as const, 'abort' as const, 'reopen' as const),
})

/** A store, and a model of its contents that commits and aborts together with the store. */
export interface Modelled<S, M> {
  store: S
  /** The model of the store's current contents. */
  current: M
  /** The model of the contents after the last commit. */
  committed: M
  readonly changelog: TestChangelog
  /**
   * Runs a step on both the store and the model. A commit includes all changes before the flush. Changes between flush
   * and commit belong to the next commit.
   */
  live(step: LifeStep): Promise<void>
}

/**
 * @param open opens a new store of the same name on the current backend
 * @param copy copies a model, because steps may change the model in place
 */
export function modelled<S extends EngineStore, M>(opened: TestBackend, open: () => S, empty: M, copy: (model: M) => M): Modelled<S, M> {
  let flushed: M | undefined

  function flush(): void {
    if (flushed !== undefined) return
    both.store.flush(both.changelog)
    flushed = copy(both.current)
  }

  function abort(): void {
    opened.session.dropBatch()
    both.store.discard()
    both.changelog.abort()
    both.current = copy(both.committed)
    flushed = undefined
  }

  const both: Modelled<S, M> = {
    store: open(),
    current: copy(empty),
    committed: copy(empty),
    changelog: testChangelog(),
    async live(step) {
      switch (step.do) {
        case 'flush':
          return flush()
        case 'commit':
          flush()
          both.changelog.commit()
          opened.session.write()
          both.store.committed()
          both.committed = flushed ?? both.committed
          flushed = undefined
          expect(storedRows(opened.backend, both.store.name)).toEqual(both.changelog.rows)
          return
        case 'abort':
          return abort()
        case 'reopen':
          abort()
          await opened.reopen()
          both.store = open()
      }
    },
  }
  return both
}

/** Defines one test per backend. Each test repeatedly runs random steps on an empty store. */
export function testAgainstModel<Step>(
  what: string,
  store: string,
  steps: fc.Arbitrary<Step>,
  run: (opened: TestBackend, steps: readonly Step[]) => Promise<void>,
): void {
  for (const openBackend of testBackends) {
    test(
      `${what} (${openBackend.name})`,
      async () => {
        const opened = await openBackend()
        try {
          await fc.assert(
            fc.asyncProperty(fc.array(steps, { maxLength: MAX_STEPS, size: 'max' }), async (list) => {
              opened.session.clear(store, PARTITION)
              await run(opened, list)
              opened.session.dropBatch()
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
}
