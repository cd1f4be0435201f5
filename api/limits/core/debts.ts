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
  /** Reduces the debt of a bucket to at most this number of units. */
  reduce(key: string, most: number): void
  forget(key: string): void
}

/** The debts of one counter. Debts of earlier windows no longer affect the limit. */
interface Owed {
  /** The debt of the newest window with a debt. */
  readonly last: Charge
  /** The debt of the window directly before. The sliding window still counts a share of these units. */
  readonly before: Charge | undefined
}

export function debts(): OpenDebts {
  const owed = new Map<string, Owed>()

  function add(charge: Charge): void {
    const { key } = charge.counter
    const known = owed.get(key)
    if (known === undefined && owed.size >= MAX_DEBTS) owed.delete(owed.keys().next().value!)
    owed.set(key, known === undefined ? { last: charge, before: undefined } : withCharge(known, charge))
  }

  return {
    owe(charges) {
      for (const charge of charges) if (charge.mode === 'charge') add(charge)
    },
    chargesFor(asks) {
      if (owed.size === 0) return NONE
      const found: Ask[] = []
      for (const { counter } of asks) {
        const known = owed.get(counter.key)
        if (known === undefined) continue
        owed.delete(counter.key)
        if (known.before !== undefined) found.push(known.before)
        found.push(known.last)
      }
      return found
    },
    get isEmpty() {
      return owed.size === 0
    },
    unitsOf(key, windowIndex) {
      const known = owed.get(key)
      const charge = known?.last.windowIndex === windowIndex ? known.last : known?.before
      return charge?.windowIndex === windowIndex ? charge.units : 0
    },
    reduce(key, most) {
      const known = owed.get(key)
      if (known === undefined || known.last.units <= most) return
      if (most > 0) owed.set(key, { ...known, last: { ...known.last, units: most } })
      else owed.delete(key)
    },
    forget: (key) => void owed.delete(key),
  }
}

/** Adds a charge to the debts of its counter, unless its window no longer affects the limit. */
function withCharge({ last, before }: Owed, charge: Charge): Owed {
  switch (charge.windowIndex - last.windowIndex) {
    case 0:
      return { last: { ...charge, units: last.units + charge.units }, before }
    case 1:
      return { last: charge, before: last }
    case -1:
      return { last, before: { ...charge, units: (before?.units ?? 0) + charge.units } }
    default:
      return charge.windowIndex > last.windowIndex ? { last: charge, before: undefined } : { last, before }
  }
}
