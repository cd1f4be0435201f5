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
 * Starts calls at a steady rate, even if earlier calls are still running. Measures each call from when it was due, so
 * that the results include the whole delay if the server stalls.
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
  reportFailures(failures)
  return latencies(times, failed)
}

/** Makes calls one after another, for the given number of seconds. */
export async function inTurn(seconds: number, call: () => Promise<unknown>): Promise<Latencies & { readonly count: number }> {
  const times: number[] = []
  const failures = new Map<string, number>()
  const end = performance.now() + seconds * MS_PER_SECOND
  let count = 0
  for (let start = performance.now(); start < end; start = performance.now()) {
    count++
    await call().then(
      () => void times.push(performance.now() - start),
      (error: Error) => void failures.set(error.message, (failures.get(error.message) ?? 0) + 1),
    )
  }
  reportFailures(failures)
  return { ...latencies(times, count - times.length), count }
}

function reportFailures(failures: ReadonlyMap<string, number>): void {
  for (const [message, count] of failures) process.stderr.write(`${count} × ${message}\n`)
}

function latencies(times: number[], failed: number): Latencies {
  times.sort((a, b) => a - b)
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99), failed }
}
