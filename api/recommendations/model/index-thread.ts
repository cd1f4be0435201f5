import { Worker } from 'node:worker_threads'
import { type PatientTimers, patientTimer, systemTimers } from '../../../runtime/patient-timer.ts'
import type { CancelTimer } from '../../../runtime/runtime.ts'
import { sharedMonotonicMs } from '../../../runtime/shared-clock.ts'
import type { ServiceKit } from '../../service.ts'
import type { IndexOpened, IndexThreadData, SearchOutcome, SearchQuery } from './index-messages.ts'
import { type OpenIndex, SearchError, type TrainedIndex, type Unanswered } from './trained-index.ts'
import type { NearRow } from './vector-index.ts'

export interface IndexThreadsOptions extends Pick<ServiceKit, 'log'> {
  /** Maximum time that a search waits for its answer. */
  readonly timeoutMs: number
  /** Called for each search that gets no answer. */
  onUnanswered(reason: Unanswered): void
  /** Default: the timers of the system. */
  readonly timers?: PatientTimers
  /** Returns the time on the clock that all threads share. Default: the clock of the system. */
  sharedMs?(): number
  /** Default: a thread that runs `index-worker.ts`. */
  startThread?(data: IndexThreadData): IndexThread
}

/** The methods of a `Worker` that this module uses. */
export type IndexThread = Pick<Worker, 'on' | 'postMessage' | 'terminate'>

/**
 * Maximum number of searches that the thread has not answered yet. At 4 ms per search, the thread needs 256 ms for this
 * many searches. With the default time limit of 250 ms, further searches would be late anyway.
 */
export const MOST_UNANSWERED = 64
/**
 * Maximum time without an answer from the thread while too many searches wait. After this time, the thread is replaced.
 * A thread that does not hang needs milliseconds for an answer, and drops late searches at once.
 */
const HUNG_MS = 10_000
/**
 * Maximum time for opening the index. After this time, the thread is terminated, and the start counts as failed.
 * Opening an index of a million items took at most 1.1 s: docs/adr/0083-large-indexes-have-a-thread.md
 */
const OPENING_MS = 60_000
/**
 * Pause before a new thread replaces a thread that has ended. The pause doubles with each further attempt up to the
 * maximum.
 */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

/**
 * Limits of the thread's heap. The index is outside of the heap, and the results of a search, before the best are
 * selected, take 20 KB.
 */
const THREAD_HEAP = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 } as const
const MESSAGES: Readonly<Record<Unanswered, string>> = {
  late: 'the search of the index took too long',
  full: 'too many searches of the index are waiting',
  away: 'the thread of the index is not running',
}

/** A search whose caller still waits. */
interface Pending {
  readonly answer: Promise<NearRow[]>
  resolve(found: NearRow[]): void
  reject(error: Error): void
}

/**
 * Opens each index in a thread of its own, so that neither searching nor opening a large index blocks requests. Only
 * this thread maps the file: docs/adr/0083-large-indexes-have-a-thread.md
 */
export function indexThreads(options: IndexThreadsOptions): OpenIndex {
  return (path, dimensions, roots) => openInThread({ path, dimensions, roots }, options)
}

async function openInThread(data: IndexThreadData, options: IndexThreadsOptions): Promise<TrainedIndex> {
  const { timeoutMs, onUnanswered, log, timers = systemTimers, sharedMs = sharedMonotonicMs, startThread = startWorker } = options
  let thread: IndexThread | undefined
  /** Whether the thread has opened the index. */
  let isOpen = false
  /** Searches that the thread has not answered yet. The value is undefined if the caller no longer waits. */
  let unanswered = new Map<number, Pending | undefined>()
  /** Searches that will be sent together at the end of this turn. */
  let batch: SearchQuery[] = []
  /** When a search was first refused because too many were waiting; undefined if the thread has answered since. */
  let fullSince: number | undefined
  let lastId = 0
  let pauseMs = FIRST_PAUSE_MS
  let isClosed = false
  let cancelRestart: CancelTimer = () => {}

  /** Starts the thread, waits until it has opened the index, and returns the number of its vectors. */
  async function start(): Promise<number> {
    const opened = Promise.withResolvers<number>()
    const started = startThread(data)
    let failure = new Error('the thread of the index has ended')
    thread = started
    started.on('message', (message: IndexOpened | SearchOutcome) => {
      // A thread that was replaced may still send messages.
      if (thread !== started) return
      if ('size' in message) {
        isOpen = true
        opened.resolve(message.size)
      } else if ('refusal' in message) opened.reject(new Error(message.refusal))
      else settle(message)
    })
    started.on('error', (error: Error) => {
      failure = error
    })
    started.on('exit', () => {
      opened.reject(failure)
      if (thread === started) ended(failure)
    })
    const cancelTimer = patientTimer(timers, OPENING_MS, OPENING_MS, () => {
      opened.reject(new Error('the thread of the index did not open the index in time'))
      thread = undefined
      void started.terminate()
    })
    return await opened.promise.finally(cancelTimer)
  }

  function ended(error: Error): void {
    const waiting = unanswered
    const wasOpen = isOpen
    thread = undefined
    isOpen = false
    unanswered = new Map()
    fullSince = undefined
    for (const pending of waiting.values()) pending?.reject(refusal('away'))
    // If the thread has not opened the index, the promise of `start` rejects, and its caller handles the failure.
    if (wasOpen && !isClosed) restartLater(error)
  }

  /**
   * Replaces the thread if it hangs. Does not wait until the old thread has ended, because native code cannot be
   * terminated.
   */
  function replaceIfHung(): void {
    fullSince ??= sharedMs()
    if (sharedMs() - fullSince < HUNG_MS) return
    const hung = thread
    ended(new Error('the thread of the index has not answered any search for too long'))
    void hung?.terminate()
  }

  function restartLater(error: Error): void {
    log.error({ err: error, path: data.path, restartMs: pauseMs }, 'index_thread_ended')
    cancelRestart = timers.setTimer(pauseMs, () => {
      start().catch((cause) => {
        if (!isClosed) restartLater(cause)
      })
    })
    pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)
  }

  function refusal(reason: Unanswered): SearchError {
    onUnanswered(reason)
    return new SearchError(reason, MESSAGES[reason])
  }

  function settle(outcome: SearchOutcome): void {
    const pending = unanswered.get(outcome.id)
    unanswered.delete(outcome.id)
    fullSince = undefined
    if ('keys' in outcome) {
      pauseMs = FIRST_PAUSE_MS
      pending?.resolve(Array.from(outcome.keys, (key, at) => ({ key, value: outcome.values[at] })))
    } else pending?.reject('failure' in outcome ? new Error(outcome.failure) : refusal('late'))
  }

  function send(): void {
    const queries = batch
    batch = []
    thread?.postMessage(queries)
  }

  const size = await start()
  return {
    size,
    async search(vector, count, by) {
      if (!isOpen || isClosed) throw refusal('away')
      if (unanswered.size >= MOST_UNANSWERED) {
        replaceIfHung()
        throw refusal('full')
      }
      const id = ++lastId
      const { promise: answer, resolve, reject } = Promise.withResolvers<NearRow[]>()
      unanswered.set(id, { answer, resolve, reject })
      const query = { id, vector, count, by, deadlineMs: sharedMs() + timeoutMs }
      // `nextTick` runs after everything else in this turn, such as other requests whose data came in the same answer
      // from Redis.
      if (batch.push(query) === 1) process.nextTick(send)
      const cancelTimer = patientTimer(timers, timeoutMs, timeoutMs, () => {
        // The entry stays until the thread answers the search, so that a thread that hangs gets only MOST_UNANSWERED
        // searches.
        unanswered.set(id, undefined)
        reject(refusal('late'))
      })
      return await answer.finally(cancelTimer)
    },
    async close() {
      isClosed = true
      cancelRestart()
      await Promise.allSettled(Array.from(unanswered.values(), (pending) => pending?.answer))
      // Does not wait for the end of the thread, which may hang in native code.
      void thread?.terminate()
    },
  }
}

function startWorker(data: IndexThreadData): IndexThread {
  const worker = new Worker(new URL('./index-worker.ts', import.meta.url), { workerData: data, resourceLimits: THREAD_HEAP })
  // The thread must not keep the process alive.
  worker.unref()
  return worker
}
