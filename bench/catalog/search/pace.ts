import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from '../../harness/table.ts'

const MS_PER_SECOND = 1_000

export interface Latencies {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly failed: number
}

/**
 * Starts calls at a steady rate, whether or not earlier ones have ended, and measures each from the time at which it
 * was due. So a server that stalls is not asked less.
 */
export async function atRate(rate: number, seconds: number, call: () => Promise<unknown>): Promise<Latencies> {
  const times: number[] = []
  const running: Promise<void>[] = []
  let failed = 0
  const failures = new Map<string, number>()
  const start = performance.now()
  for (let number = 0; number < rate * seconds; number++) {
    const due = start + (number * MS_PER_SECOND) / rate
    const wait = due - performance.now()
    if (wait > 0) await delay(wait)
    const ended = call().then(
      () => void times.push(performance.now() - due),
      (error: Error) => {
        failed++
        failures.set(error.message, (failures.get(error.message) ?? 0) + 1)
      },
    )
    running.push(ended)
  }
  await Promise.all(running)
  for (const [message, count] of failures) process.stderr.write(`${count} × ${message}\n`)
  times.sort((a, b) => a - b)
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99), failed }
}
