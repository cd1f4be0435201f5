import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { ItemTable } from '../items/item-table.ts'
import type { RequestUser } from '../users/request-user.ts'
import { unknownUser } from '../users/request-user.ts'

export interface RehearsalDeps {
  readonly items: Pick<ItemTable, 'size' | 'idAt'>
  /** Probes of all in-memory data that lists need. */
  readonly needs: readonly ReadinessProbe[]
  /** Resolves once no model is being fetched or opened. */
  settled(): Promise<unknown>
  /** Makes a list and its answer for a user, as for a request, but without recording or publishing anything. */
  rehearse(user: RequestUser): Promise<unknown>
  /** Lets the process do other work. */
  otherWork(): Promise<unknown>
  wait(ms: number): Promise<unknown>
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

/** Minimum number of items for a rehearsal. With fewer items, even the first lists are fast. */
const LEAST_ITEMS = 1_000
/** Maximum time that a new process waits for a model, and maximum duration of the rehearsal. */
const WAIT_FOR_MODEL_MS = 3_000
const REHEARSAL_MS = 2_000
/** Maximum number of rehearsed lists. After this many lists, V8 has compiled nearly all code that lists need. */
const LISTS = 400
const HISTORY = 40
const RECENT = 10
const LAST_VIEWED = 5
const HOUR_MS = 3_600_000

/**
 * Makes lists for invented users before the process reports that it is ready. V8 compiles a function only after many
 * calls, and lists take ten times as long before that. Without a rehearsal, the first requests of a process would
 * therefore queue up.
 */
export function rehearsal(deps: RehearsalDeps): ReadinessProbe {
  let stage: 'waiting' | 'running' | 'over' = 'waiting'

  async function run(): Promise<void> {
    try {
      await Promise.race([deps.settled(), deps.wait(WAIT_FOR_MODEL_MS)])
      const end = deps.monotonic() + REHEARSAL_MS
      for (let list = 0; list < LISTS && deps.monotonic() < end; list++) {
        await deps.rehearse(inventedUser(deps))
        await deps.otherWork()
      }
    } finally {
      // A failed rehearsal only makes the first lists slow, so it must not keep the process from becoming ready.
      stage = 'over'
    }
  }

  function start(): void {
    if (stage !== 'waiting') return
    stage = deps.items.size < LEAST_ITEMS ? 'over' : 'running'
    if (stage === 'running') run().catch(() => undefined)
  }

  return {
    name: 'rehearsal of lists',
    async check() {
      if (stage === 'waiting') {
        const missing = await Promise.all(deps.needs.map((need) => need.check()))
        if (missing.some((reason) => reason !== undefined)) return 'the rehearsal is waiting for the data that lists need'
        start()
      }
      return stage === 'over' ? undefined : 'the rehearsal has not ended yet'
    },
  }
}

/** Returns a user who has recently viewed random items. */
function inventedUser({ items, random, now }: RehearsalDeps): RequestUser {
  const itemIds = Array.from({ length: HISTORY }, () => items.idAt(Math.floor(random() * items.size)))
  const recent = [...new Set(itemIds)].slice(0, RECENT)
  const watched = new Set(itemIds)
  return {
    ...unknownUser(0n),
    interactions: HISTORY,
    hoursAway: 1,
    lastViewed: recent.slice(0, LAST_VIEWED),
    recent,
    session: recent.slice(0, LAST_VIEWED),
    history: itemIds.map((itemId, place) => ({ itemId, at: now() - place * HOUR_MS, weight: 1, type: 'VIEW' as const })),
    hasWatched: (itemId) => watched.has(itemId),
  }
}
