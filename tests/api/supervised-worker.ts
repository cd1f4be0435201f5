import { setTimeout as delay } from 'node:timers/promises'
import type { GuardedFolder } from '../stack/folder.ts'
import type { WorkerProcess } from './worker-process.ts'

/**
 * A worker that is restarted when it ends by itself, for example because a server was not running yet when the worker
 * started.
 */
export interface SupervisedWorker extends Pick<WorkerProcess, 'child' | 'isReady' | 'kill' | 'lines' | 'url'> {
  /**
   * Starts the worker again after `kill`. Retries until it succeeds, because a server that the worker needs may be
   * down.
   */
  restart(): Promise<void>
}

/** How long a typical supervisor waits before it restarts a process. */
const RESTART_AFTER_MS = 500
/**
 * Time limit of a restart. Tests do not stop a server for that long. After this time, `restart` throws the worker's
 * last error.
 */
const RESTART_DEADLINE_MS = 90_000

export async function supervisedWorker(folder: GuardedFolder, start: () => Promise<WorkerProcess>): Promise<SupervisedWorker> {
  let worker = await start()
  let isWanted = true
  let killed: WorkerProcess | undefined
  /** Serializes starts and kills, because a test may kill the worker during a restart. */
  let turn = Promise.resolve()
  watch(worker)

  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }

  async function begin(): Promise<void> {
    worker = await start()
    watch(worker)
  }

  function watch(watched: WorkerProcess): void {
    void watched.ended.then(() => inTurn(() => beginAgain(watched)))
  }

  /**
   * Replaces a worker that has ended by itself. Repeats the start until it succeeds. Does nothing if the worker was
   * killed or has already been replaced.
   */
  async function beginAgain(ended: WorkerProcess): Promise<void> {
    while (isWanted && worker === ended && killed !== ended && !folder.isFinishing) {
      await delay(RESTART_AFTER_MS)
      if (!folder.isFinishing) await begin().catch(() => undefined)
    }
  }

  async function beginUntilItStarts(): Promise<void> {
    const deadline = Date.now() + RESTART_DEADLINE_MS
    for (;;) {
      try {
        return await begin()
      } catch (error) {
        if (folder.isFinishing || Date.now() > deadline) throw error
        await delay(RESTART_AFTER_MS)
      }
    }
  }

  return {
    get child() {
      return worker.child
    },
    get lines() {
      return worker.lines
    },
    get url() {
      return worker.url
    },
    isReady: () => worker.isReady(),
    kill() {
      isWanted = false
      return inTurn(async () => {
        killed = worker
        await worker.kill()
      })
    },
    restart() {
      isWanted = true
      return inTurn(beginUntilItStarts)
    },
  }
}
