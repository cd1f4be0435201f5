import type { ClickDetails } from '../../../schemas/links/types.ts'
import { HOUR_MS } from './time.ts'

/** The aggregated pending clicks on one link. */
export interface ClickBatch {
  total: number
  bots: number
  /** Counts of all clicks, keyed by the hour (in hours since 1970). */
  readonly hours: Map<number, number>
  /** This field and the following fields do not count bots. */
  readonly referrers: Map<string, number>
  readonly countries: Map<string, number>
  readonly browsers: Map<string, number>
  readonly devices: Map<string, number>
  /** Hashes of the visitors. */
  readonly visitors: Set<string>
}

/** Adds up clicks by link until they are drained, so that the state of a link is updated once for many clicks. */
export function pendingClicks() {
  let pending = new Map<string, ClickBatch>()

  function add(click: ClickDetails): void {
    let batch = pending.get(click.short_code)
    if (batch === undefined) {
      batch = emptyBatch()
      pending.set(click.short_code, batch)
    }
    batch.total++
    increase(batch.hours, Math.floor(click.clicked_at / HOUR_MS))
    if (click.bot) {
      batch.bots++
      return
    }
    increase(batch.referrers, click.referrer)
    increase(batch.countries, click.country)
    increase(batch.browsers, click.browser)
    increase(batch.devices, click.device)
    batch.visitors.add(click.visitor)
  }

  /** Passes all batches to `take`, and forgets them. */
  function drain(take: (code: string, batch: ClickBatch) => void): void {
    for (const [code, batch] of pending) take(code, batch)
    pending = new Map()
  }

  return {
    add,
    drain,
    /** Number of links with pending clicks. */
    get size() {
      return pending.size
    },
  }
}

function emptyBatch(): ClickBatch {
  return {
    total: 0,
    bots: 0,
    hours: new Map(),
    referrers: new Map(),
    countries: new Map(),
    browsers: new Map(),
    devices: new Map(),
    visitors: new Set(),
  }
}

function increase<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
