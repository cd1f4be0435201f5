import { parentPort, workerData } from 'node:worker_threads'
import { SharedMoment, sharedMonotonicMs } from '../../runtime/shared-clock.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { StallMessage } from './kept-session.ts'
import type { StallThreadData } from './stall-guard.ts'
import { CHECK_EVERY_MS, stallWatch } from './stall-watch.ts'

/**
 * The thread behind `StallGuard`. While the event loop runs, the thread only compares two clock readings once a second.
 * It loads the protocol package and connects when the loop is blocked for the first time.
 */
const { options, mark } = workerData as StallThreadData
const lastTurn = new SharedMoment(mark)

const watch = stallWatch({
  now: sharedMonotonicMs,
  lastTurn: () => lastTurn.get(),
  toleranceMs: options.stallToleranceMs,
  open: async (session) => {
    const { openKeptMember } = await import('./kept-member.ts')
    return openKeptMember(options, session)
  },
})
const runtime = systemRuntime()
let cancelTimer: (() => void) | undefined

function checkLater(): void {
  cancelTimer = runtime.setTimer(CHECK_EVERY_MS, () => {
    watch.check()
    checkLater()
  })
}

parentPort?.on('message', (message: StallMessage) => {
  if (message.type === 'keep') watch.keep(message.id, message.session, message.beats)
  else watch.release(message.id)
  if (watch.isEmpty) {
    cancelTimer?.()
    cancelTimer = undefined
  } else if (cancelTimer === undefined) checkLater()
})
