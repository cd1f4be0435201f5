import { Worker } from 'node:worker_threads'
import { SharedMoment, sharedMonotonicMs } from '../../runtime/shared-clock.ts'
import { type GuardedMembership, KeptBeats, type StallGuard, type StallMessage } from './kept-session.ts'
import type { Context, ResolvedKafkaOptions } from './options.ts'

/**
 * Time between two signs of life of the event loop. The timer fires at the same moments as the heartbeats, so that the
 * process wakes up once for both.
 */
const MARK_EVERY_MS = 1_000
/** Time after which the thread is started again if the system refused to start it, or if it ended. */
const START_AGAIN_MS = 60_000
/**
 * Limits of the thread's heap. The thread needs memory only for its copy of the protocol package, which it loads at the
 * first stall.
 */
const THREAD_HEAP = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 } as const

/** Data that the thread receives when it starts. */
export interface StallThreadData {
  readonly options: ResolvedKafkaOptions
  /** The time of the event loop's last sign of life. The main thread and the stall thread share this time. */
  readonly mark: SharedArrayBuffer
}

export function openStallGuard({ options, runtime }: Context): StallGuard {
  const mark = new SharedMoment()
  /** The messages that describe the present memberships, keyed by id. */
  const kept = new Map<number, StallMessage>()
  let thread: Worker | undefined
  /** Monotonic time (ms) at which the system last refused to start the thread, or at which the thread ended. */
  let stoppedAt = Infinity
  let cancelTimer = () => {}
  let lastId = 0
  let closed = false

  function markTurn(): void {
    mark.set(sharedMonotonicMs())
    if (thread === undefined && kept.size > 0 && runtime.monotonic() - stoppedAt >= START_AGAIN_MS) startAll()
    if (kept.size > 0) cancelTimer = runtime.setTimer(MARK_EVERY_MS - (runtime.monotonic() % MARK_EVERY_MS), markTurn)
  }

  function start(): Worker {
    const data: StallThreadData = { options, mark: mark.memory }
    const worker = new Worker(new URL('./stall-thread.ts', import.meta.url), { workerData: data, resourceLimits: THREAD_HEAP })
    // The thread must not keep the process alive, because the process may end while its members are still in their
    // groups.
    worker.unref()
    worker.on('error', (error) => runtime.log.error({ err: error }, 'kafka_stall_guard_failed'))
    worker.on('exit', () => {
      if (thread !== worker) return
      thread = undefined
      stoppedAt = runtime.monotonic()
    })
    return worker
  }

  /**
   * Passes the present state of a membership, or its end, to the thread. Starts the thread if it is not running. If the
   * system permits no further threads, the membership goes on without a guard. The next call of this function tries to
   * start the thread again, and so does `markTurn` after a minute. Both also apply when the thread has ended.
   */
  function post(message: StallMessage): void {
    if (closed) return
    if (thread !== undefined) thread.postMessage(message)
    else if (kept.size > 0) startAll()
  }

  /** Starts the thread, and passes the present state of all memberships to it. */
  function startAll(): void {
    try {
      thread = start()
    } catch (error) {
      stoppedAt = runtime.monotonic()
      runtime.log.warn({ err: error }, 'kafka_stall_guard_not_started')
      return
    }
    for (const known of kept.values()) thread.postMessage(known)
  }

  function guard(): GuardedMembership {
    const id = ++lastId
    const beats = new KeptBeats()
    let taken = 0
    return {
      update(session) {
        if (closed) return
        const wasIdle = kept.size === 0
        const message: StallMessage = { type: 'keep', id, session, beats: beats.memory }
        kept.set(id, message)
        if (wasIdle) markTurn()
        post(message)
      },
      takeEpoch() {
        const { count, epoch } = beats
        if (count === taken) return undefined
        taken = count
        return epoch
      },
      release() {
        if (!kept.delete(id)) return
        if (kept.size === 0) cancelTimer()
        post({ type: 'release', id })
      },
    }
  }

  async function close(): Promise<void> {
    closed = true
    kept.clear()
    cancelTimer()
    await thread?.terminate()
  }

  return { guard, close }
}
