import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { machineCpuSeconds } from './process-stats.ts'

const SAMPLE_MS = 1_000
/** Share of all cores that may be busy on a quiet machine. Idle servers take about a tenth of one core. */
const QUIET_SHARE = 0.12
/**
 * How long to wait for a quiet machine. If other programs keep it busy, the benchmark then continues and reports the
 * load.
 */
const LIMIT_MS = 120_000

/** Waits until the machine is nearly idle. After the data is seeded, for example, the servers are busy for a while. */
export async function untilQuiet(): Promise<void> {
  const end = performance.now() + LIMIT_MS
  while (performance.now() < end) {
    const [busy, start] = [machineCpuSeconds(), performance.now()]
    await delay(SAMPLE_MS)
    const seconds = (performance.now() - start) / SAMPLE_MS
    if ((machineCpuSeconds() - busy) / seconds / availableParallelism() < QUIET_SHARE) return
  }
}
