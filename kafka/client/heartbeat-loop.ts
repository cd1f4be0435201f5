import type { Runtime } from '../../runtime/runtime.ts'
import { Disconnected } from './errors.ts'
import { type Backoff, backoff } from './retry.ts'

/** Share of the heartbeat interval by which a timer may fire early without causing two heartbeats in succession. */
const EARLY_BEAT = 0.1
const RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000

export interface HeartbeatLoopOptions {
  readonly runtime: Runtime
  readonly groupId: string
  isMember(): boolean
  intervalMs(): number
  /** Sends one heartbeat and handles the answer. Rejects with Disconnected when the heartbeat must be retried. */
  exchange(): Promise<void>
  /** Called with an error that a retry cannot fix. */
  failed(error: Error): void
  /** Fires when the member leaves. */
  readonly stopping: AbortSignal
}

/** Schedules the heartbeats of a member, one at a time. */
export function heartbeatLoop({ runtime, groupId, isMember, intervalMs, exchange, failed, stopping }: HeartbeatLoopOptions) {
  let underWay: Promise<void> | undefined
  let sleep = new AbortController()
  let isUrgent = false

  /** Waits for the heartbeat in flight. */
  async function settle(): Promise<void> {
    while (underWay !== undefined) await underWay.catch(() => {})
  }

  /**
   * Waits for the heartbeat in flight and then sends another, so that heartbeats never overlap. Rejects when the new
   * heartbeat is not answered.
   */
  async function exchangeOnce(): Promise<void> {
    // There must be no await between this check and the start of the heartbeat. With an await, two callers could both
    // find that no heartbeat is in flight.
    while (underWay !== undefined) await underWay.catch(() => {})
    underWay = exchange().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  /**
   * Returns the time until the next heartbeat. If members in the same process have equal intervals, they send their
   * heartbeats at the same moment, so that the process and the broker wake up once for all of them.
   */
  function untilNext(): number {
    const interval = intervalMs()
    const left = interval - (runtime.monotonic() % interval)
    return left > interval * EARLY_BEAT ? left : left + interval
  }

  /** Sends heartbeats at the interval, or earlier after `hurry`, until the member is fenced, fails or leaves. */
  async function run(): Promise<void> {
    const retry = backoff({ runtime }, RETRY_MS, LONGEST_RETRY_MS)
    while (isMember()) {
      sleep = new AbortController()
      if (!isUrgent) await runtime.sleep(untilNext(), sleep.signal)
      isUrgent = false
      while (isMember() && !(await answered(retry)));
    }
  }

  /**
   * Sends heartbeats in succession while `isWanted` returns true, that is, while the member is joining. Backs off after
   * each unanswered heartbeat.
   */
  async function sendWhile(isWanted: () => boolean): Promise<void> {
    const retry = backoff({ runtime }, RETRY_MS, LONGEST_RETRY_MS)
    while (isWanted()) await answered(retry)
  }

  /**
   * Sends one heartbeat.
   * @returns true after an answer or a permanent failure; false when the heartbeat must be retried (after the
   * back-off)
   */
  async function answered(retry: Backoff): Promise<boolean> {
    try {
      await exchangeOnce()
      retry.reset()
      return true
    } catch (error) {
      if (!(error instanceof Disconnected)) {
        failed(error as Error)
        return true
      }
      runtime.log.debug({ err: error, groupId }, 'kafka_heartbeat_retried')
      await retry.wait(stopping)
      return false
    }
  }

  return {
    exchangeOnce,
    sendWhile,
    run,
    /** Sends the next heartbeat at once. */
    hurry() {
      isUrgent = true
      sleep.abort()
    },
    /** Ends the wait for the next heartbeat, so that `run` checks at once whether the membership has ended. */
    wake() {
      sleep.abort()
    },
    settle,
  }
}
