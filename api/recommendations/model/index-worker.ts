import { parentPort, workerData } from 'node:worker_threads'
import { sharedMonotonicMs } from '../../../runtime/shared-clock.ts'
import type { IndexOpened, IndexThreadData, SearchOutcome, SearchQuery } from './index-messages.ts'
import { answerQuery } from './index-queries.ts'
import { type VectorIndex, viewVectorIndex } from './vector-index.ts'

/** The thread of `indexThreads`. It opens one index, and answers searches until the main thread terminates it. */
const { path, dimensions, roots } = workerData as IndexThreadData

function post(message: IndexOpened | SearchOutcome): void {
  const buffers = 'keys' in message ? [message.keys.buffer, message.values.buffer] : []
  parentPort!.postMessage(message, buffers as ArrayBuffer[])
}

function open(): VectorIndex | undefined {
  try {
    return viewVectorIndex(path, dimensions, roots)
  } catch (error) {
    post({ refusal: (error as Error).message })
    return undefined
  }
}

const index = open()
if (index !== undefined) {
  parentPort!.on('message', (queries: readonly SearchQuery[]) => {
    for (const query of queries) post(answerQuery(index, query, sharedMonotonicMs()))
  })
  post({ size: index.size })
}
