import type { Runtime } from '../../runtime/runtime.ts'
import { Disconnected } from './errors.ts'
import { type Backoff, backoff } from './retry.ts'

/** Part of the interval by which a timer may fire too soon without bringing a second heartbeat at once. */
const EARLY_BEAT = 0.1
const RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000

/** When a member sends its heartbeats, one at a time. */
export interface HeartbeatLoop {
  /** One heartbeat. Waits for the one under way first, so that requests never overlap. Rejects when it was not answered. */
  exchangeOnce(): Promise<void>
  /** Sends heartbeats one after the other while the member wants it: until it has joined. Waits after each that is not answered. */
  sendWhile(isWanted: () => boolean): Promise<void>
  /** Sends heartbeats, at the interval or when there is a hurry, until the member is fenced, fails or leaves. */
  run(): Promise<void>
  /** The next heartbeat leaves at once. */
  hurry(): void
  /** Ends the wait for the next heartbeat. */
  wake(): void
  /** Waits for the heartbeat under way. */
  settle(): Promise<void>
}

export interface HeartbeatLoopOptions {
  readonly runtime: Runtime
  readonly groupId: string
  isMember(): boolean
  intervalMs(): number
  /** Sends one heartbeat and acts on the answer. Rejects with Disconnected when there is none. */
  exchange(): Promise<void>
  /** Trying again does not help. */
  failed(error: Error): void
  /** Fires when the member leaves. */
  readonly stopping: AbortSignal
}

export function heartbeatLoop({ runtime, groupId, isMember, intervalMs, exchange, failed, stopping }: HeartbeatLoopOptions): HeartbeatLoop {
  let underWay: Promise<void> | undefined
  let sleep = new AbortController()
  let isUrgent = false

  async function settle(): Promise<void> {
    while (underWay !== undefined) await underWay.catch(() => {})
  }

  async function exchangeOnce(): Promise<void> {
    // Without a turn between the check and the start: two callers must not both find nothing under way.
    while (underWay !== undefined) await underWay.catch(() => {})
    underWay = exchange().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  /** All members of a process send theirs at the same moments: it wakes up once for all of them, and so does the broker. */
  function untilNext(): number {
    const interval = intervalMs()
    const left = interval - (runtime.monotonic() % interval)
    return left > interval * EARLY_BEAT ? left : left + interval
  }

  async function run(): Promise<void> {
    const retry = backoff({ runtime }, RETRY_MS, LONGEST_RETRY_MS)
    while (isMember()) {
      sleep = new AbortController()
      if (!isUrgent) await runtime.sleep(untilNext(), sleep.signal)
      isUrgent = false
      while (isMember() && !(await answered(retry)));
    }
  }

  async function sendWhile(isWanted: () => boolean): Promise<void> {
    const retry = backoff({ runtime }, RETRY_MS, LONGEST_RETRY_MS)
    while (isWanted()) await answered(retry)
  }

  /** @returns false when the heartbeat must be repeated; the wait is over then */
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
    hurry() {
      isUrgent = true
      sleep.abort()
    },
    wake() {
      sleep.abort()
    },
    settle,
  }
}
