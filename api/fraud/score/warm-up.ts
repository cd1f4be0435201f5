import type { ReadinessProbe } from '../../kit/readiness.ts'

/**
 * How long the warm-up may delay readiness. After this time, a process is ready even without Redis or models, because
 * it can score without them.
 */
const READY_WITHIN_MS = 3_000
/** Number of made-up payments that are scored at the same time, as in a burst. */
const AT_ONCE = 6
/**
 * Number of rounds in which all parts must be available. After this many rounds, V8 has compiled the functions that
 * scoring calls most.
 */
const ROUNDS = 20
const PAUSE_MS = 20

export interface WarmUpDeps {
  /**
   * Scores a made-up payment, and leaves nothing behind. Returns whether all parts that need a warm-up were available.
   */
  rehearse(): Promise<boolean>
  sleep(ms: number): Promise<void>
  /** Monotonic ms. */
  monotonic(): number
}

export interface WarmUp {
  readonly probe: ReadinessProbe
  /** Resolves once the warm-up has ended. */
  readonly done: Promise<void>
  close(): Promise<void>
}

/**
 * Scores made-up payments before the process is ready, because the first payments after a cold start would take longer
 * than their limits: code is not compiled yet, scripts are not loaded, and connections are not open.
 */
export function warmUp({ rehearse, sleep, monotonic }: WarmUpDeps): WarmUp {
  const until = monotonic() + READY_WITHIN_MS
  let isDone = false
  let isClosed = false

  async function run(): Promise<void> {
    for (let rounds = 0; rounds < ROUNDS && !isClosed && monotonic() < until; ) {
      const burst = Array.from({ length: AT_ONCE }, () => rehearse().catch(() => false))
      if ((await Promise.all(burst)).every(Boolean)) rounds++
      else await sleep(PAUSE_MS)
    }
    isDone = true
  }

  const done = run()
  return {
    probe: {
      name: 'fraud warm-up',
      async check() {
        return isDone || monotonic() >= until ? undefined : 'scoring is warming up'
      },
    },
    done,
    async close() {
      isClosed = true
      await done
    },
  }
}
