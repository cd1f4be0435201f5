import type { Ask } from './counter.ts'

type Charge = Extract<Ask, { mode: 'give-back' | 'charge' }>

/** Units that this instance granted to requests without the store, and that the store has not counted yet. */
export interface Debts {
  /** Adds the charges to the debts. Ignores other asks. */
  owe(charges: readonly Ask[]): void
  /** Removes and returns the debts of the counters in these asks. The caller must send the debts, or add them again. */
  chargesFor(asks: readonly Ask[]): readonly Ask[]
}

/** Maximum number of counters with debts. When there are more, the oldest debts are dropped. */
const MAX_DEBTS = 50_000
const NONE: readonly Ask[] = []

/** The debts, with the methods that the instance's own counts need. */
export interface OpenDebts extends Debts {
  readonly isEmpty: boolean
  /** Returns the units that are owed for a counter in the window with this index. */
  unitsOf(key: string, windowIndex: number): number
  /** Reduces the debt of a counter to at most this number of units. */
  reduce(key: string, most: number): void
  forget(key: string): void
}

export function debts(): OpenDebts {
  const owed = new Map<string, Charge>()

  function add(charge: Charge): void {
    const { key } = charge.counter
    const before = owed.get(key)
    // A debt from an earlier window hardly affects the limit, so only the debt from the newest window is kept.
    if (before !== undefined && before.windowIndex > charge.windowIndex) return
    const units = charge.units + (before?.windowIndex === charge.windowIndex ? before.units : 0)
    if (before === undefined && owed.size >= MAX_DEBTS) owed.delete(owed.keys().next().value!)
    owed.set(key, { ...charge, units })
  }

  return {
    owe(charges) {
      for (const charge of charges) if (charge.mode === 'charge') add(charge)
    },
    chargesFor(asks) {
      if (owed.size === 0) return NONE
      const found: Ask[] = []
      for (const { counter } of asks) {
        const charge = owed.get(counter.key)
        if (charge === undefined) continue
        owed.delete(counter.key)
        found.push(charge)
      }
      return found
    },
    get isEmpty() {
      return owed.size === 0
    },
    unitsOf(key, windowIndex) {
      const charge = owed.get(key)
      return charge?.windowIndex === windowIndex ? charge.units : 0
    },
    reduce(key, most) {
      const charge = owed.get(key)
      if (charge === undefined || charge.units <= most) return
      if (most > 0) owed.set(key, { ...charge, units: most })
      else owed.delete(key)
    },
    forget: (key) => void owed.delete(key),
  }
}
