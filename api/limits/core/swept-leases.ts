import type { CounterStore } from './counter.ts'
import { type LeasedCounters, type LeaseOptions, leasedCounters, SWEEP_MS } from './leases.ts'

/**
 * Sweeps leases with a timer. The timer runs only while there is something to sweep, so that an idle process does not
 * wake up.
 */
export function sweptLeases(options: LeaseOptions): CounterStore & Pick<LeasedCounters, 'forget' | 'close'> {
  const leases = leasedCounters(options)
  let sweeping: NodeJS.Timeout | undefined

  function sweep(): void {
    if (leases.sweep()) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  return {
    decide(asks) {
      sweeping ??= setInterval(sweep, SWEEP_MS).unref()
      return leases.decide(asks)
    },
    forget: leases.forget,
    async close() {
      clearInterval(sweeping)
      await leases.close()
    },
  }
}
