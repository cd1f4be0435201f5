import type { Counter, CounterStore, Undecided } from './counter.ts'
import { addLostSlice, greatestSlice, hasChanged, type LeaseEntry, learnShare, rememberRefusal, windowOf } from './lease-entry.ts'
import type { LeaseTable } from './lease-table.ts'

/** The requests that leases send to the store: taking slices, checking refusals, and returning units. */
export interface LeaseRenewal {
  /**
   * Takes the next slice. Only one request per counter is sent to the store at a time, and all waiting requests share
   * its answer. Resolves with the reason if the store does not decide.
   */
  renew(entry: LeaseEntry): Promise<Undecided | undefined>
  /** Takes the next slice of a hot counter before the current slice is used up, so that requests rarely wait. */
  renewEarly(entry: LeaseEntry, now: number): void
  /**
   * Asks the store whether a counter that refused a request has units again. Does nothing if such a query is running or
   * not yet due.
   */
  recheckRefusal(entry: LeaseEntry, now: number): void
  /** Returns the unspent units to the store. */
  giveBack(entry: LeaseEntry): Promise<void>
}

export interface LeaseRenewalOptions {
  readonly store: CounterStore
  /** Monotonic ms. */
  monotonic(): number
  readonly table: Pick<LeaseTable, 'track'>
}

/**
 * Minimum rate at which a counter is leased, in requests per ms. At a lower rate, a slice would not save enough
 * requests to the store.
 */
export const HOT_PER_MS = 0.2
/** How long a slice should last at the current rate. */
const SLICE_MS = 50
/** The next slice is taken when this share of the last slice is left. */
const RENEW_AT = 0.3

export function leaseRenewal({ store, monotonic, table }: LeaseRenewalOptions): LeaseRenewal {
  function renew(entry: LeaseEntry): Promise<Undecided | undefined> {
    entry.renewal ??= takeSlice(entry).finally(() => {
      entry.renewal = undefined
    })
    return entry.renewal
  }

  async function takeSlice(entry: LeaseEntry): Promise<Undecided | undefined> {
    const askedAt = monotonic()
    const { counter } = entry
    const units = Math.max(1, Math.min(greatestSlice(entry, askedAt), Math.ceil(entry.rate * SLICE_MS)) - entry.units)
    const onUnknownOutcome = () => keepLostSlice(counter, units)
    const outcome = await store.decide([{ mode: 'up-to', counter, units, onUnknownOutcome }])
    if ('undecided' in outcome) return outcome
    const [reading] = outcome
    learnShare(entry, reading)
    if (entry.units > 0 && windowOf(entry.counter, reading.nowUs) !== windowOf(entry.counter, entry.reading.nowUs)) void giveBack(entry)
    entry.units += reading.taken
    if (reading.taken > 0) entry.slice = entry.units
    entry.reading = reading
    entry.readAt = askedAt
    // A remembered refusal would also refuse requests that could be served from the unspent units.
    if (reading.taken === 0 && entry.units === 0) rememberRefusal(entry, reading, askedAt, 1)
    return undefined
  }

  function keepLostSlice(counter: Counter, units: number): void {
    const now = monotonic()
    const entry = table.track(counter, now)
    if (entry !== undefined) addLostSlice(entry, units, now)
  }

  async function recheck(entry: LeaseEntry, askedAt: number): Promise<void> {
    const { counter, refusedUnits } = entry
    const outcome = await store.decide([{ mode: 'soft', counter, units: 0 }])
    // Without an answer, or after the rule has changed, the refusal is no longer used, and the next request asks the
    // store itself.
    if ('undecided' in outcome || hasChanged(entry.counter.limit, counter.limit)) entry.refusedUntil = 0
    else rememberRefusal(entry, outcome[0], askedAt, refusedUnits)
  }

  async function giveBack(entry: LeaseEntry): Promise<void> {
    const { counter, units, reading } = entry
    entry.units = 0
    entry.takenSince -= units
    if (units > 0) await store.decide([{ mode: 'give-back', counter, units, windowIndex: windowOf(counter, reading.nowUs) }])
  }

  return {
    renew,
    renewEarly(entry, now) {
      if (entry.units > RENEW_AT * entry.slice || entry.rate < HOT_PER_MS) return
      // The maximum slice may have shrunk since the last slice was taken, for example because the limit was lowered.
      if (entry.units >= greatestSlice(entry, now)) return
      void renew(entry)
    },
    recheckRefusal(entry, now) {
      if (now < entry.recheckAt || entry.isRechecking) return
      entry.isRechecking = true
      void recheck(entry, now).finally(() => {
        entry.isRechecking = false
      })
    },
    giveBack,
  }
}
