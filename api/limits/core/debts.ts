import type { Ask } from './counter.ts'

type Charge = Extract<Ask, { mode: 'give-back' | 'charge' }>

/** Units that this instance let through without the store, and that the store has not counted yet. */
export interface Debts {
  /** Adds to what is owed. */
  owe(charges: readonly Ask[]): void
  /** Takes the charges of the counters of these asks. The caller sends them, or owes them again. */
  chargesFor(asks: readonly Ask[]): readonly Ask[]
}

/** Beyond this number of counters, the oldest debts are remitted. */
const MAX_DEBTS = 50_000
const NONE: readonly Ask[] = []

/** The debts, as the own counts see them. */
export interface OpenDebts extends Debts {
  readonly isEmpty: boolean
  /** What is owed for a counter in the window of that index. */
  unitsOf(key: string, windowIndex: number): number
  forget(key: string): void
}

export function debts(): OpenDebts {
  const owed = new Map<string, Charge>()

  function add(charge: Charge): void {
    const { key } = charge.counter
    const before = owed.get(key)
    // What was let through in an earlier window hardly counts any more.
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
    forget: (key) => void owed.delete(key),
  }
}
