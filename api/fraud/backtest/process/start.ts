import { type ChildProcess, fork } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReplayBasis } from '../replay.ts'
import type { ReplayResult } from '../report.ts'
import type { FromReplayProcess, ReplayFailure, ReplayOrder, ReplayProgress, ToReplayProcess } from './messages.ts'

/** A replay that runs in a separate process. */
export interface RunningReplay {
  /**
   * The result of the replay. Rejects with a ReplayError if callers of the API may see the reason, and otherwise with
   * another error.
   */
  readonly done: Promise<{ readonly result: ReplayResult; readonly available: number }>
  /** Ends the process. `done` then rejects with the reason, unless `done` has already settled. */
  cancel(reason: string): void
}

/** Everything that a replay needs: the order, and the current lists and snoozes. */
export interface ReplayRequest extends Pick<ReplayBasis, 'lists' | 'snoozes'> {
  readonly order: ReplayOrder
}

/** Why a back-test failed, in a message that callers of the API may see. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError'
}

/**
 * Default time limit of a back-test. A million transactions with 500 rules take minutes on an idle machine. They take
 * several times as long while scoring, which has priority, needs the CPU.
 */
const DEADLINE_MS = 20 * 60_000
/** Maximum heap size of the process. The heap contains mainly the lists and one batch of transactions. */
const MAX_HEAP_MIB = 384
const MODULE = new URL('./main.ts', import.meta.url)

/** Starts a process that replays the logged features of payments, and kills it after `deadlineMs`. */
export function startReplay(
  request: ReplayRequest,
  onProgress: (progress: ReplayProgress) => void,
  deadlineMs = DEADLINE_MS,
): RunningReplay {
  // The environment is empty, because the process needs no secrets except the ClickHouse credentials, which are part of
  // the order.
  const child = fork(MODULE, {
    execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const { promise: done, resolve, reject } = Promise.withResolvers<{ result: ReplayResult; available: number }>()
  const timer = setTimeout(() => end('The back-test took too long. Choose a smaller sample.'), deadlineMs)

  function endWith(error: Error): void {
    clearTimeout(timer)
    reject(error)
    child.kill('SIGKILL')
  }

  function end(reason: string): void {
    endWith(new ReplayError(reason))
  }

  child.on('message', (message: FromReplayProcess) => {
    if (message.kind === 'progress') onProgress(message.progress)
    else if (message.kind === 'failed') endWith(errorOf(message))
    else {
      clearTimeout(timer)
      resolve({ result: message.result, available: message.available })
    }
  })
  child.on('error', (error) => end(`The back-test process failed: ${error.message}`))
  child.on('exit', () => end('The back-test process ended unexpectedly.'))
  // If the process ends early, sending also fails, but the handler of `exit` reports the reason.
  sendRequest(child, request).catch(() => undefined)
  return { done, cancel: end }
}

function errorOf({ reason, isPublic }: ReplayFailure): Error {
  return isPublic ? new ReplayError(reason) : new Error(reason)
}

/**
 * Sends the order, the lists, the snoozes and the start. Pauses after each list, so that copying large lists does not
 * delay requests to the API.
 */
async function sendRequest(child: ChildProcess, { order, lists, snoozes }: ReplayRequest): Promise<void> {
  const send = (message: ToReplayProcess) =>
    new Promise<void>((resolve, reject) => child.send(message, (error) => (error === null ? resolve() : reject(error))))
  await send({ kind: 'order', order })
  for (const [name, values] of lists) {
    await send({ kind: 'list', name, values })
    await nextTurn()
  }
  for (const [ruleId, periods] of snoozes) await send({ kind: 'snoozes', ruleId, periods })
  await send({ kind: 'start' })
}
