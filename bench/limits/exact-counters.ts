import type { CounterStore, Reading } from '../../api/limits/core/counter.ts'
import { elapsedUs, estimateOf, US_PER_SECOND, windowIndexAt } from '../../api/limits/core/formulas.ts'

interface Held {
  index: number
  current: number
  previous: number
  tokens: number
  since: number
  /** Number of units taken, minus those given back, since the counter was created. */
  taken: number
}

/** Implements the limiter's Redis script in memory, with a simulated clock. Calls resolve in the next microtask. */
export function exactCounters(nowUs: () => number) {
  const counters = new Map<string, Held>()
  const state = { questions: 0 }
  const store: CounterStore = {
    async decide(asks) {
      state.questions++
      const now = nowUs()
      const readings: Reading[] = []
      const undo: (() => void)[] = []
      let isRefused = false
      for (const ask of asks) {
        const { counter, units } = ask
        const { limit, windowSeconds, burst } = counter.limit
        const capacity = limit + burst
        const index = windowIndexAt(now, windowSeconds)
        const held = counters.get(counter.key) ?? { index, current: 0, previous: 0, tokens: capacity, since: now, taken: 0 }
        counters.set(counter.key, held)
        if (held.index < index) {
          held.previous = held.index === index - 1 ? held.current : 0
          held.current = 0
          held.index = index
        }
        held.tokens = Math.min(capacity, held.tokens + ((now - held.since) * limit) / (windowSeconds * US_PER_SECOND))
        held.since = now
        const isBucket = burst > 0
        const estimate = estimateOf(held, elapsedUs(now, index, windowSeconds), windowSeconds)
        const room = isBucket ? Math.floor(held.tokens) : Math.max(0, Math.ceil(limit - estimate))
        const before = isBucket
          ? { held: Math.floor(held.tokens * US_PER_SECOND), heldBefore: 0 }
          : { held: held.current, heldBefore: held.previous }
        let taken = 0
        if (ask.mode === 'give-back') {
          held.taken -= units
          if (isBucket) held.tokens = Math.min(capacity, held.tokens + units)
          else if (ask.windowIndex === index) held.current -= units
          else if (ask.windowIndex === index - 1) held.previous -= units
        } else if (ask.mode === 'up-to') taken = Math.min(units, room)
        else if (units <= room) taken = units
        held.current += taken
        held.tokens -= taken
        held.taken += taken
        undo.push(() => {
          held.current -= taken
          held.tokens += taken
          held.taken -= taken
        })
        if (ask.mode === 'hard' && taken < units) isRefused = true
        readings.push({ taken, nowUs: now, ...before })
      }
      if (isRefused) for (const giveBack of undo) giveBack()
      return readings
    },
  }
  return { store, state, takenOf: (key: string) => counters.get(key)?.taken ?? 0 }
}
