import { type Ask, type Counter, type CounterStore, type Reading, TIMEOUT_MS, type Undecided } from './counter-store.ts'
import {
  block,
  type Entry,
  greatestSlice,
  isInWindow,
  isOther,
  learnShare,
  localReading,
  losing,
  newEntry,
  windowOf,
} from './lease-entry.ts'
import { within } from './within.ts'

/** A counter store that decides hot counters in this process. */
export interface LeasedCounters extends CounterStore {
  /** Gives back what is not being spent. Every SWEEP_MS. @returns false when there is nothing to sweep until the next decision */
  sweep(): boolean
  /** Drops what is known of counters that were reset. */
  forget(keys: readonly string[]): void
  /** Gives back everything. */
  close(): Promise<void>
  /** Decisions so far that needed no question to the store. */
  readonly local: number
}

export interface LeaseOptions {
  readonly store: CounterStore
  /** Monotonic ms. */
  monotonic(): number
  /** As long as the store is waited for, one request waits in all. */
  readonly timeoutMs?: number
}

export const SWEEP_MS = 25
/** Below this a question per request costs nothing worth sparing. */
const HOT_PER_MS = 0.2
/** A slice lasts so long at the present rate. */
const SLICE_MS = 50
/** A new slice is asked for when this part of the last one is left: requests seldom wait. */
const RENEW_AT = 0.3
/** Unspent units go back after this. */
const LEASE_MS = 100
/** A caller who is refused and stays away so long is forgotten: he costs one question when he comes back. */
const FORGET_REFUSED_MS = 1_000
/** The rate is looked at in pieces of this. */
const RATE_SLOT_MS = 20
/** Counters known at once; more are decided by the store. */
const MAX_ENTRIES = 50_000
/** A counter is known from so many requests between two sweeps: most callers come once, and cost next to nothing. */
const KNOWN_FROM = 3
/** Requests of counters that are not known are counted by a hash of the key: two that share a place are known a little earlier. */
const SEEN_PLACES = 65_536
/** A request that finds every slice used up by others so often asks for itself. */
const MAX_ATTEMPTS = 3

/** What a request has waited for already. */
interface Waited {
  /** Monotonic ms. */
  readonly since: number
  readonly attempts: number
}

type Local = 'spend' | 'refuse' | 'ask' | 'lease'

/**
 * Takes slices of hot counters' budgets and spends them without asking; remembers refusals for as long as they are certain. What is spent
 * here was counted in the store before, so limits are never exceeded by it; what lies unspent when the limit is reached is at most
 * a hundredth of the limit per instance, and a twenty-fifth over all.
 */
export function leasedCounters({ store, monotonic, timeoutMs = TIMEOUT_MS }: LeaseOptions): LeasedCounters {
  const entries = new Map<string, Entry>()
  /** Requests since the last sweep, of counters that are not known. */
  const seen = new Uint8Array(SEEN_PLACES)
  let local = 0

  function decide(asks: readonly Ask[], waited?: Waited): ReturnType<CounterStore['decide']> {
    const now = monotonic()
    if (asks.length === 1) return decideOne(asks, waited, now)
    const found = asks.map((ask) => touched(ask, now, waited === undefined))
    const ways = asks.map((ask, index) => wayOf(ask, found[index], now))
    if (ways.includes('refuse')) for (const [index, entry] of found.entries()) if (ways[index] === 'refuse') lookAgain(entry!, now)
    if (asks.some(({ mode }, index) => mode === 'hard' && ways[index] === 'refuse')) {
      local++
      return found.map((entry, index) => localReading(entry, ways[index] === 'refuse' ? 0 : asks[index].units, now))
    }
    if (ways.includes('lease') && mayWait(waited)) return afterLeases(asks, found, ways, waited)
    return spend(asks, found, ways, now)
  }

  /** Most requests have one rule: what is decided here costs no more than it must. */
  function decideOne(asks: readonly Ask[], waited: Waited | undefined, now: number): ReturnType<CounterStore['decide']> {
    const [ask] = asks
    const entry = touched(ask, now, waited === undefined)
    if (entry === undefined) return decideCold(ask, now)
    const way = wayOf(ask, entry, now)
    if (way === 'lease' && mayWait(waited)) return afterLeases(asks, [entry], [way], waited)
    if (way === 'lease' || way === 'ask') return spend(asks, [entry], [way], now)
    local++
    if (way === 'spend') return [spendHere(entry, ask.units, now)]
    lookAgain(entry, now)
    return [localReading(entry, 0, now)]
  }

  /** Of a caller who is not known nothing is held: most requests, and the store's answer is theirs. */
  function decideCold(ask: Ask, now: number): ReturnType<CounterStore['decide']> {
    const outcome = store.decide([ask])
    return outcome instanceof Promise ? outcome.then(remembering) : outcome

    function remembering(answered: readonly Reading[] | Undecided): readonly Reading[] | Undecided {
      if ('undecided' in answered || answered[0].taken >= ask.units) return answered
      const entry = known(ask.counter, now)
      if (entry !== undefined) block(entry, answered[0], now, ask.units)
      return answered
    }
  }

  /** Counts a request that is new for the rate of its counter. @returns undefined when there is no room to know it */
  function touched({ mode, counter }: Ask, now: number, isNew: boolean): Entry | undefined {
    if (mode !== 'hard' && mode !== 'soft') return undefined
    let entry = entries.get(counter.key)
    if (entry === undefined) {
      const place = placeOf(counter.key)
      if (seen[place] + 1 < KNOWN_FROM) seen[place]++
      else entry = known(counter, now)
      if (entry === undefined) return undefined
    }
    if (isOther(entry.counter.limit, counter.limit)) {
      // The rule was changed: what was refused by the old one says nothing.
      entry.counter = counter
      entry.blockedUntil = 0
    }
    if (!isNew) return entry
    entry.hits++
    if (now - entry.slotAt >= RATE_SLOT_MS) {
      entry.rate = (entry.rate + entry.hits / (now - entry.slotAt)) / 2
      entry.hits = 0
      entry.slotAt = now
    }
    return entry
  }

  /** The entry of the counter, made when there is none yet. @returns undefined when there is no room */
  function known(counter: Counter, now: number): Entry | undefined {
    const found = entries.get(counter.key)
    if (found !== undefined || entries.size >= MAX_ENTRIES) return found
    const entry = newEntry(counter, now)
    entries.set(counter.key, entry)
    return entry
  }

  function wayOf({ units }: Ask, entry: Entry | undefined, now: number): Local {
    if (entry === undefined || units === 0) return 'ask'
    if (now < entry.blockedUntil && units >= entry.blockedUnits) return 'refuse'
    if (entry.units >= units && isInWindow(entry, now)) return 'spend'
    return entry.rate >= HOT_PER_MS && greatestSlice(entry, now) >= 2 * units ? 'lease' : 'ask'
  }

  async function afterLeases(
    asks: readonly Ask[],
    found: readonly (Entry | undefined)[],
    ways: readonly Local[],
    waited: Waited | undefined,
  ) {
    const { since, attempts } = waited ?? { since: monotonic(), attempts: 0 }
    const hot = found.filter((_entry, index) => ways[index] === 'lease') as Entry[]
    const outcomes = await Promise.all(hot.map((entry) => renewed(entry)))
    const undecided = outcomes.find((outcome) => outcome !== undefined)
    if (undecided !== undefined) return undecided
    // The first wait was bounded by the store; what is asked after it shares its time.
    const outcome = decide(asks, { since, attempts: attempts + 1 })
    return outcome instanceof Promise && attempts === 0 ? within(outcome, since + timeoutMs - monotonic()) : outcome
  }

  /** Spends what is held here and asks the store for the rest. */
  function spend(asks: readonly Ask[], found: readonly (Entry | undefined)[], ways: readonly Local[], now: number) {
    const readings = asks.map((ask, index) => {
      const entry = found[index]
      return ways[index] === 'spend' ? spendHere(entry!, ask.units, now) : localReading(entry, 0, now)
    })
    const open = asks.flatMap((_ask, index) => (ways[index] === 'ask' || ways[index] === 'lease' ? [index] : []))
    if (open.length === 0) {
      local++
      return readings
    }
    const outcome = store.decide(open.map((index) => asks[index]))
    return outcome instanceof Promise ? outcome.then(joined) : joined(outcome)

    function joined(answered: readonly Reading[] | Undecided): readonly Reading[] | Undecided {
      if ('undecided' in answered) return answered
      let isRefused = false
      for (const [position, index] of open.entries()) {
        readings[index] = answered[position]
        if (found[index] !== undefined) learnShare(found[index], answered[position])
        if (answered[position].taken >= asks[index].units) continue
        if (asks[index].mode === 'hard') isRefused = true
        const entry = found[index] ?? known(asks[index].counter, now)
        if (entry !== undefined) block(entry, answered[position], now, asks[index].units)
      }
      if (isRefused) for (const [index, ask] of asks.entries()) if (ways[index] === 'spend') found[index]!.units += ask.units
      return readings
    }
  }

  function spendHere(entry: Entry, units: number, now: number): Reading {
    const reading = localReading(entry, units, now)
    entry.units -= units
    renewEarly(entry)
    return reading
  }

  /** One question at a time per counter; everybody who waits shares its answer. */
  function renewed(entry: Entry): Promise<Undecided | undefined> {
    entry.renewal ??= renew(entry).finally(() => {
      entry.renewal = undefined
    })
    return entry.renewal
  }

  function renewEarly(entry: Entry): void {
    if (entry.units > RENEW_AT * entry.slice || entry.rate < HOT_PER_MS) return
    void renewed(entry)
  }

  async function renew(entry: Entry): Promise<Undecided | undefined> {
    const askedAt = monotonic()
    const { counter } = entry
    const units = Math.max(1, Math.min(greatestSlice(entry, askedAt), Math.ceil(entry.rate * SLICE_MS)) - entry.units)
    const outcome = await store.decide([{ mode: 'up-to', counter, units, lost: () => lost(counter, units) }])
    if ('undecided' in outcome) return outcome
    const [reading] = outcome
    learnShare(entry, reading)
    if (entry.units > 0 && windowOf(entry.counter, reading.nowUs) !== windowOf(entry.counter, entry.reading.nowUs)) void giveBack(entry)
    entry.units += reading.taken
    if (reading.taken > 0) entry.slice = entry.units
    entry.reading = reading
    entry.readAt = askedAt
    // Units that are held are spent first.
    if (reading.taken === 0 && entry.units === 0) block(entry, reading, askedAt, 1)
    return undefined
  }

  function lost(counter: Counter, units: number): void {
    const now = monotonic()
    const entry = known(counter, now)
    if (entry !== undefined) losing(entry, units, now)
  }

  /** One question for all who are refused meanwhile. */
  function lookAgain(entry: Entry, now: number): void {
    if (now < entry.lookAt || entry.isLookedAt) return
    entry.isLookedAt = true
    void look(entry, now).finally(() => {
      entry.isLookedAt = false
    })
  }

  async function look(entry: Entry, askedAt: number): Promise<void> {
    const { counter, blockedUnits } = entry
    const outcome = await store.decide([{ mode: 'soft', counter, units: 0 }])
    // Whoever comes next asks for himself: a store that is away lets through.
    if ('undecided' in outcome || isOther(entry.counter.limit, counter.limit)) entry.blockedUntil = 0
    else block(entry, outcome[0], askedAt, blockedUnits)
  }

  async function giveBack(entry: Entry): Promise<void> {
    const { counter, units, reading } = entry
    entry.units = 0
    entry.takenSince -= units
    if (units > 0) await store.decide([{ mode: 'give-back', counter, units, windowIndex: windowOf(counter, reading.nowUs) }])
  }

  function sweep(): boolean {
    const now = monotonic()
    let isBusy = false
    seen.fill(0)
    for (const [key, entry] of entries) {
      if (entry.renewal !== undefined) {
        isBusy = true
        continue
      }
      if (entry.units > 0 && (now - entry.readAt >= LEASE_MS || !isInWindow(entry, now))) void giveBack(entry)
      const idleMs = now - entry.slotAt
      const isIdle = entry.units === 0 && idleMs >= (now >= entry.blockedUntil ? LEASE_MS : FORGET_REFUSED_MS)
      if (!isIdle) isBusy = true
      else if (now >= entry.lostUntil) entries.delete(key)
    }
    return isBusy
  }

  return {
    decide: (asks) => decide(asks),
    sweep,
    forget(keys) {
      for (const key of keys) entries.delete(key)
    },
    async close() {
      const held = [...entries.values()]
      entries.clear()
      await Promise.all(held.map(({ renewal }) => renewal))
      await Promise.all(held.map(giveBack))
    },
    get local() {
      return local
    },
  }
}

/** FNV-1a, folded. @see http://www.isthe.com/chongo/tech/comp/fnv/ */
function placeOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (SEEN_PLACES - 1)
}

function mayWait(waited: Waited | undefined): boolean {
  return waited === undefined || waited.attempts < MAX_ATTEMPTS
}
