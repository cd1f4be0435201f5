import type { CancelTimer } from '../../../runtime/runtime.ts'
import { ChildGone, type ChildLink } from './link.ts'

/** A child process that is restarted whenever it ends or hangs. */
export interface SupervisedChild {
  /** The running child once it is prepared; undefined while no child is ready. */
  readonly ready: ChildLink | undefined
  /** Why no child is ready; undefined while a child is ready. */
  readonly trouble: string | undefined
  close(): Promise<void>
}

export interface SuperviseOptions {
  start(): ChildLink
  /**
   * Prepares a new child for use. If the preparation fails or takes too long, the child is killed and a new one is
   * started.
   */
  prepare(child: ChildLink): Promise<void>
  /** Resolves once the child has answered all earlier requests. */
  ping(child: ChildLink): Promise<unknown>
  onStart?(): void
  /** Called when a child ends although `close` was not called. */
  onEnd?(how: string, restartInMs: number): void
  readonly timers: { setTimer(ms: number, callback: () => void): CancelTimer }
}

const PREPARE_LIMIT_MS = 30_000
const PING_EVERY_MS = 500
/** How long a ping may stay unanswered before the child is killed. */
const HUNG_AFTER_MS = 2_000
const FIRST_RESTART_MS = 50
const LONGEST_RESTART_MS = 10_000
/** How long a child must stay ready before the delay of its next restart returns to the minimum. */
const STABLE_MS = 10_000

export function supervise({ start, prepare, ping, onStart, onEnd, timers }: SuperviseOptions): SupervisedChild {
  let current: ChildLink | undefined
  let ready: ChildLink | undefined
  let trouble: string | undefined = 'starting'
  let isClosed = false
  let restartMs = FIRST_RESTART_MS
  let cancelRestart: CancelTimer = () => {}
  let running = run()

  /**
   * Starts a child. If that fails, for example because the process has no free file descriptors, returns a child that
   * has ended.
   */
  function started(): ChildLink {
    try {
      return start()
    } catch (error) {
      const gone = new ChildGone((error as Error).message)
      return { request: () => Promise.reject(gone), kill() {}, ended: Promise.resolve(gone.message) }
    }
  }

  async function run(): Promise<void> {
    const child = started()
    current = child
    onStart?.()
    let cancelStable: CancelTimer = () => {}
    let cancelWatch = timers.setTimer(PREPARE_LIMIT_MS, child.kill)
    prepare(child).then(
      () => {
        cancelWatch()
        if (isClosed) return
        ready = child
        trouble = undefined
        cancelStable = timers.setTimer(STABLE_MS, () => {
          restartMs = FIRST_RESTART_MS
        })
        watch()
      },
      () => child.kill(),
    )

    function watch(): void {
      cancelWatch = timers.setTimer(HUNG_AFTER_MS, child.kill)
      ping(child).then(
        () => {
          cancelWatch()
          cancelWatch = timers.setTimer(PING_EVERY_MS, watch)
        },
        () => {},
      )
    }

    const how = await child.ended
    cancelWatch()
    cancelStable()
    ready = undefined
    trouble = how
    if (isClosed) return
    onEnd?.(how, restartMs)
    cancelRestart = timers.setTimer(restartMs, () => {
      running = run()
    })
    restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS)
  }

  return {
    get ready() {
      return ready
    },
    get trouble() {
      return trouble
    },
    async close() {
      isClosed = true
      cancelRestart()
      current?.kill()
      await running
    },
  }
}
