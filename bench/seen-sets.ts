import { seenSetReader, seenSetStore, utf8 } from '../pipelines/engine/index.ts'
import type { ChangelogWriter, StateBackend } from '../state/stores/store.ts'

const DAY_MS = 24 * 3_600_000
const SHAPE = { item: utf8, capacity: 50_000, errorRate: 0.01, lifetimeMs: 30 * DAY_MS }
const START_MS = Date.UTC(2026, 0, 1)
const SIZES = [300, 5_000, 50_000]
/**
 * Number of items that each of two measurements adds. One measures the written bytes, with one commit per item. The
 * other measures the CPU time, without commits.
 */
const MEASURED = 1_000
const ASKED = 50_000
const CACHE_BYTES = 8 * 1024 * 1024

/** Costs and accuracy of a seen-set with this number of items. */
export interface SeenSetCost {
  readonly items: number
  /** CPU time of adding an item, in µs. */
  readonly addMicroseconds: number
  /** Average number of bytes, in keys and values, that the store writes to the changelog for each added item. */
  readonly writtenBytes: number
  /** Size of all pages of the set in bytes. */
  readonly setBytes: number
  /** Share of new items that the set reports as seen. */
  readonly falsePositives: number
  /** CPU time per lookup in µs. It includes an equal share of the time to decode the set, which happens only once. */
  readonly readMicroseconds: number
}

/** Measures sets of several sizes. Their items were added at equal intervals over the lifetime of an item. */
export function seenSetCosts(backend: StateBackend): SeenSetCost[] {
  return SIZES.map((items) => {
    const name = `seen-${items}`
    const store = seenSetStore(name, { key: utf8, ...SHAPE })
    const codec = store.values.open(1, { get: () => undefined })
    const session = backend.session('bench')
    store.open({ column: session.column(name, 0), codec, cacheBytes: CACHE_BYTES })
    const written = { bytes: 0 }
    const changelog: ChangelogWriter = {
      append(_key, keyStart, keyEnd, _value, valueStart, valueEnd) {
        written.bytes += keyEnd - keyStart + valueEnd - valueStart
      },
    }
    const commit = () => {
      store.flush(changelog)
      session.write()
      store.committed()
    }
    const user = 'd2a1f0de-0000-4000-8000-000000000000'
    for (let i = 0; i < items; i++) store.add(user, `item-${i}`, START_MS + Math.floor((i * SHAPE.lifetimeMs) / items))
    commit()
    written.bytes = 0
    const now = START_MS + SHAPE.lifetimeMs
    const pages = new Map(store.pages(user).map(({ page, bytes }) => [page, bytes]))
    const readStart = process.cpuUsage()
    const read = seenSetReader(SHAPE).open((page) => pages.get(page), now)
    let wrong = 0
    for (let i = 0; i < ASKED; i++) if (read.has(`other-${i}`)) wrong++
    const readMicroseconds = microsecondsSince(readStart) / ASKED

    for (let i = 0; i < MEASURED; i++) {
      store.add(user, `more-${i}`, now)
      commit()
    }
    const addStart = process.cpuUsage()
    for (let i = 0; i < MEASURED; i++) store.add(user, `last-${i}`, now)
    const addMicroseconds = microsecondsSince(addStart) / MEASURED
    session.dropBatch()
    return {
      items,
      addMicroseconds,
      writtenBytes: written.bytes / MEASURED,
      setBytes: [...pages.values()].reduce((sum, { length }) => sum + length, 0),
      falsePositives: wrong / ASKED,
      readMicroseconds,
    }
  })
}

function microsecondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return user + system
}
