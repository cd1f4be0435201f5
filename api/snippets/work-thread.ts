import { parentPort, Worker } from 'node:worker_threads'

/** Work that would hold up every other request of the process, in a thread of its own. */
export interface WorkThread<Q, A> {
  /** undefined: it took too long, failed, or too many wait already. */
  ask(request: Q): Promise<A | undefined>
  close(): Promise<void>
}

export interface WorkThreadOptions {
  /** What takes longer is stopped, with all that wait behind it. */
  readonly timeoutMs: number
  /** Who comes while so many wait is not served. */
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
  /** Resolves when it takes requests: what its start takes is nobody's fault. False: it was stopped before. */
  readonly ready: Promise<boolean>
  stopped(): void
}

/**
 * One thread, started when first needed and again when it had to be stopped.
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

/** The thread's side, called when everything is loaded: from then on requests take their own time only. */
export function answerRequests<Q, A>(work: (request: Q) => A): void {
  parentPort!.on('message', ({ sequence, request }: Asked<Q>) =>
    parentPort!.postMessage({ sequence, answer: work(request) } satisfies Told<A>),
  )
  parentPort!.postMessage('ready')
}
