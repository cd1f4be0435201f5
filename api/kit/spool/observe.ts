import { Counter, type Registry } from 'prom-client'
import { gauge } from '../metrics.ts'
import type { ReadinessProbe } from '../readiness.ts'
import type { Spool, SpoolState } from './spool.ts'

/**
 * The probe reports a problem if the first record of the oldest file with waiting records is older than this. The probe
 * ignores shorter delays, because they are usually over soon.
 */
const DEGRADED_AFTER_MS = 5_000
const MS_PER_SECOND = 1_000

type Observed = Pick<Spool, 'state'>

function ageMs({ oldest }: SpoolState, now: number): number {
  return oldest === undefined ? 0 : Math.max(0, now - oldest)
}

export function measureSpool(spool: Observed, registry: Registry, now: () => number): void {
  gauge(registry, 'spool_bytes', 'Size of the files that hold records for Kafka', () => spool.state.bytes)
  gauge(registry, 'spool_records', 'Spooled records that wait for Kafka', () => spool.state.records)
  gauge(
    registry,
    'spool_oldest_seconds',
    'Age of the first record in the oldest file with waiting records; 0 if no records wait',
    () => ageMs(spool.state, now()) / MS_PER_SECOND,
  )
  gauge(registry, 'spool_damaged_files', 'Damaged files that are kept for an operator', () => spool.state.damagedFiles)
  gauge(registry, 'spool_unreadable_folders', 'Folders of dead processes that cannot be read', () => spool.state.unreadableFolders.length)
  total(
    registry,
    'spool_spooled_total',
    'Records that were written to a file, because Kafka did not accept them in time or because they are always spooled',
    () => spool.state.spooled,
  )
  total(registry, 'spool_sent_total', 'Spooled records that Kafka has accepted', () => spool.state.sent)
  total(
    registry,
    'spool_refused_total',
    'Records that were not stored, because the spool was full or closed, or because writing to the disk failed',
    () => spool.state.refused,
  )
  total(
    registry,
    'spool_dropped_total',
    'Spooled records that Kafka rejected permanently, or that were lost because a file of the running process was damaged',
    () => spool.state.dropped,
  )
}

/** Adds a counter whose value is read each time the metrics are read. */
function total(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

export function spoolProbe(spool: Observed, now: () => number): ReadinessProbe {
  return {
    name: 'spool',
    optional: true,
    async check() {
      const { state } = spool
      if (state.unreadableFolders.length > 0) return `these folders cannot be read: ${state.unreadableFolders.join(', ')}`
      const waitedMs = ageMs(state, now())
      if (waitedMs <= DEGRADED_AFTER_MS) return undefined
      return `${state.records} records wait for Kafka, the oldest of them for up to ${Math.round(waitedMs / MS_PER_SECOND)} s`
    },
  }
}
