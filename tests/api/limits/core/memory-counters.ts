import type { CounterStore, FailureReason } from '../../../../api/limits/core/counter.ts'

/** Creates in-memory counters that are never reset, for tests that do not depend on windows. */
export function memoryCounters() {
  const counts = new Map<string, number>()
  const state: { failing: FailureReason | undefined; nowUs: number } = { failing: undefined, nowUs: 120_000_000 }
  const store: CounterStore = {
    decide(asks) {
      if (state.failing !== undefined) return { undecided: state.failing }
      const readings = asks.map(({ counter, units, mode }) => {
        const held = counts.get(counter.key) ?? 0
        const taken = mode !== 'give-back' && held + units <= counter.limit.limit ? units : 0
        return { taken, nowUs: state.nowUs, held, heldBefore: 0 }
      })
      const isRefused = asks.some(({ mode, units }, index) => mode === 'hard' && readings[index].taken < units)
      if (!isRefused)
        for (const [index, { counter }] of asks.entries()) counts.set(counter.key, readings[index].held + readings[index].taken)
      return Promise.resolve(readings)
    },
  }
  return { store, counts, state }
}
