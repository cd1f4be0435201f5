import { parentPort, Worker } from 'node:worker_threads'

/** Runs work that would block all other requests of the process in a separate thread. */
export interface WorkThread<Q, A> {
  /** Resolves with undefined if the work took too long or failed, or if too many requests were waiting. */
  ask(request: Q): Promise<A | undefined>
  close(): Promise<void>
}

export interface WorkThreadOptions {
  /** Time limit per request. Exceeding it stops the thread and fails all waiting requests. */
  readonly timeoutMs: number
  /** Further requests are rejected while this many wait. */
  readonly maxWaiting: number
}

interface Asked<Q> {
  readonly sequence: number
  readonly request: Q
}

interface Told<A> {
  readonly sequence: number
  readonly answer: A
}

interface Thread {
  readonly worker: Worker
  /**
   * Resolves when the thread accepts requests, so that its start-up does not count against a request. False if it was
   * stopped.
   */
  readonly ready: Promise<boolean>
  stopped(): void
}

/**
 * A single thread, started on first use and restarted after it was stopped.
 * @param module calls `answerRequests`
 */
export function workThread<Q, A>(module: URL, { timeoutMs, maxWaiting }: WorkThreadOptions): WorkThread<Q, A> {
  const waiting = new Map<number, (answer: A | undefined) => void>()
  let running: Thread | undefined
  let sequence = 0
  let served = 0

  function started(): Thread {
    if (running !== undefined) return running
    const { promise: ready, resolve } = Promise.withResolvers<boolean>()
    const thread: Thread = { worker: new Worker(module), ready, stopped: () => resolve(false) }
    thread.worker.unref()
    thread.worker.on('message', (message: Told<A> | 'ready') => {
      if (message === 'ready') resolve(true)
      else settle(message.sequence, message.answer)
    })
    thread.worker.on('error', () => void stop(thread))
    running = thread
    return thread
  }

  function settle(which: number, answer: A | undefined): void {
    waiting.get(which)?.(answer)
    waiting.delete(which)
  }

  async function stop(thread: Thread): Promise<void> {
    if (running !== thread) return
    running = undefined
    for (const which of [...waiting.keys()]) settle(which, undefined)
    thread.stopped()
    await thread.worker.terminate()
  }

  async function send(request: Q): Promise<A | undefined> {
    const thread = started()
    if (!(await thread.ready)) return undefined
    const asked: Asked<Q> = { sequence: sequence++, request }
    const { promise, resolve } = Promise.withResolvers<A | undefined>()
    waiting.set(asked.sequence, resolve)
    const timer = setTimeout(() => void stop(thread), timeoutMs)
    thread.worker.postMessage(asked)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async ask(request) {
      if (served >= maxWaiting) return undefined
      served++
      try {
        return await send(request)
      } finally {
        served--
      }
    },
    async close() {
      if (running !== undefined) await stop(running)
    },
  }
}

/**
 * The thread's side. The module calls it when everything is loaded, so that loading does not count against a request.
 */
export function answerRequests<Q, A>(work: (request: Q) => A): void {
  parentPort!.on('message', ({ sequence, request }: Asked<Q>) =>
    parentPort!.postMessage({ sequence, answer: work(request) } satisfies Told<A>),
  )
  parentPort!.postMessage('ready')
}
