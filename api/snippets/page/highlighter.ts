import { Worker } from 'node:worker_threads'
import type { HighlightReply, HighlightRequest } from './highlight-worker.ts'

/** Makes text of a language into HTML of nothing but text and `<span class="hljs-…">`. */
export interface Highlighter {
  /** undefined: it took too long or failed; the text is shown as it is. */
  highlight(text: string, language: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Longer texts are shown plain. */
export const MAX_HIGHLIGHTED_BYTES = 131_072
/** A hundred kilobytes take some 50 ms; what takes this long is meant to. */
const MAX_HIGHLIGHT_MS = 1_000
/** Pages that come while so many wait are shown plain. */
const MAX_WAITING = 50

const WORKER = new URL('./highlight-worker.ts', import.meta.url)

interface Thread {
  readonly worker: Worker
  /** Resolves when it takes requests: what its start takes is nobody's text's fault. False: it was stopped before. */
  readonly ready: Promise<boolean>
  stopped(): void
}

/** One thread, started when first needed and again when it had to be stopped. */
export function threadHighlighter(timeoutMs: number = MAX_HIGHLIGHT_MS): Highlighter {
  const waiting = new Map<number, (html: string | undefined) => void>()
  let worker: Thread | undefined
  let sequence = 0

  function started(): Thread {
    if (worker !== undefined) return worker
    const { promise: ready, resolve } = Promise.withResolvers<boolean>()
    const thread: Thread = { worker: new Worker(WORKER), ready, stopped: () => resolve(false) }
    thread.worker.unref()
    thread.worker.on('message', (message: HighlightReply | 'ready') => {
      if (message === 'ready') resolve(true)
      else settle(message.sequence, message.html)
    })
    thread.worker.on('error', () => void stop(thread))
    worker = thread
    return thread
  }

  function settle(which: number, html: string | undefined): void {
    waiting.get(which)?.(html)
    waiting.delete(which)
  }

  /** Whoever waits for it is shown plain text. */
  async function stop(thread: Thread): Promise<void> {
    if (worker !== thread) return
    worker = undefined
    for (const which of [...waiting.keys()]) settle(which, undefined)
    thread.stopped()
    await thread.worker.terminate()
  }

  return {
    async highlight(text, language) {
      if (waiting.size >= MAX_WAITING) return undefined
      const thread = started()
      if (!(await thread.ready)) return undefined
      const request: HighlightRequest = { sequence: sequence++, text, language }
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      waiting.set(request.sequence, resolve)
      const timer = setTimeout(() => void stop(thread), timeoutMs)
      thread.worker.postMessage(request)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      if (worker !== undefined) await stop(worker)
    },
  }
}
