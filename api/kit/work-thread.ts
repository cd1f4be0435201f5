import { parentPort, Worker } from 'node:worker_threads'

/** Runs work in a separate thread, because the work would otherwise block all other requests of the process. */
export interface WorkThread<Q, A> {
  /**
   * Resolves with the answer. Resolves with undefined if the request fails, waits or runs for too long, or arrives
   * while too many requests are waiting or running. Also resolves with undefined if the thread does not start, or is
   * closed before it answers.
   */
  ask(request: Q): Promise<A | undefined>
  close(): Promise<void>
}

export interface WorkThreadOptions<Q = never> {
  /**
   * Time limit of a request, counted from the moment when the thread receives it. A request that exceeds the limit
   * fails, and the thread is stopped. Other requests do not fail.
   */
  readonly timeoutMs: number
  /** Maximum time that a request waits for earlier requests. */
  readonly maxWaitMs: number
  /** Maximum number of requests that wait or run. Further requests get undefined at once. */
  readonly maxWaiting: number
  /**
   * Time after which a thread that is not ready is stopped, so that the requests that wait for it get undefined.
   * @default 30000
   */
  readonly startLimitMs?: number
  /** Called with each request that exceeds `timeoutMs`. */
  onSlow?(request: Q): void
}

/** Default time limit for the start of the thread. Loading its modules takes about a second on a busy machine. */
const START_LIMIT_MS = 30_000

interface Waiting<Q, A> {
  readonly request: Q
  settle(answer: A | undefined): void
}

interface Answered<A> {
  readonly answer: A
}

interface Thread<A> {
  readonly worker: Worker
  /**
   * Resolves when the thread accepts requests, so that the start of the thread does not count against the time limit of
   * a request. The value is false if the thread was stopped.
   */
  readonly ready: Promise<boolean>
  stopped(): void
  /** Settles the request that the thread is working on. */
  settle: ((answer: A | undefined) => void) | undefined
}

/**
 * Manages a single thread. Starts the thread on first use, and again after it was stopped. The thread receives one
 * request at a time. A slow request therefore does not use up the time limit of the requests behind it, and these
 * requests do not fail when the thread is stopped.
 * @param module the code of the thread. It must call `answerRequests`.
 */
export function workThread<Q, A>(module: URL, options: WorkThreadOptions<Q>): WorkThread<Q, A> {
  const { timeoutMs, maxWaitMs, maxWaiting, startLimitMs = START_LIMIT_MS } = options
  /** Waiting requests in order of arrival. */
  const queue = new Set<Waiting<Q, A>>()
  let running: Thread<A> | undefined
  let isWorking = false
  let served = 0

  function started(): Thread<A> {
    if (running !== undefined) return running
    const { promise: ready, resolve } = Promise.withResolvers<boolean>()
    const thread: Thread<A> = { worker: new Worker(module), ready, stopped: () => resolve(false), settle: undefined }
    thread.worker.unref()
    thread.worker.on('message', (message: Answered<A> | 'ready') => {
      if (message === 'ready') resolve(true)
      else thread.settle?.(message.answer)
    })
    thread.worker.on('error', () => void stop(thread))
    // A module that does not call `answerRequests` ends without an error.
    thread.worker.on('exit', () => void stop(thread))
    const timer = setTimeout(() => void stop(thread), startLimitMs)
    timer.unref()
    void ready.finally(() => clearTimeout(timer))
    running = thread
    return thread
  }

  async function stop(thread: Thread<A>): Promise<void> {
    if (running !== thread) return
    running = undefined
    thread.stopped()
    thread.settle?.(undefined)
    await thread.worker.terminate()
  }

  async function isReady(): Promise<boolean> {
    try {
      return await started().ready
    } catch {
      // The constructor of Worker throws if the system permits no further threads.
      return false
    }
  }

  async function send(request: Q): Promise<A | undefined> {
    if (!(await isReady())) return undefined
    const { promise, resolve } = Promise.withResolvers<A | undefined>()
    const waiting: Waiting<Q, A> = { request, settle: resolve }
    queue.add(waiting)
    const timer = setTimeout(() => {
      if (queue.delete(waiting)) resolve(undefined)
    }, maxWaitMs)
    void work()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }

  /** Passes one request after another to the thread. */
  async function work(): Promise<void> {
    if (isWorking) return
    isWorking = true
    for (const waiting of queue) {
      queue.delete(waiting)
      waiting.settle(await run(waiting.request).catch(() => undefined))
    }
    isWorking = false
  }

  async function run(request: Q): Promise<A | undefined> {
    const thread = started()
    if (!(await thread.ready)) return undefined
    const { promise, resolve } = Promise.withResolvers<A | undefined>()
    thread.settle = resolve
    const stopIfBusy = () => {
      if (thread.settle !== resolve) return
      options.onSlow?.(request)
      void stop(thread)
    }
    // After a pause of the whole process, an answer of the thread may have arrived but not been processed yet.
    // `setImmediate` lets the process receive it first.
    const timer = setTimeout(() => setImmediate(stopIfBusy), timeoutMs)
    try {
      // Throws if the request cannot be cloned.
      thread.worker.postMessage(request)
      return await promise
    } finally {
      clearTimeout(timer)
      thread.settle = undefined
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
      for (const waiting of queue) waiting.settle(undefined)
      queue.clear()
      if (running !== undefined) await stop(running)
    },
  }
}

/**
 * Answers requests inside the thread. The module calls this function when everything is loaded, so that loading does
 * not count against the time limit of a request.
 */
export function answerRequests<Q, A>(work: (request: Q) => A): void {
  parentPort!.on('message', (request: Q) => parentPort!.postMessage({ answer: work(request) } satisfies Answered<A>))
  parentPort!.postMessage('ready')
}
