import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type WorkThread, workThread } from '../../kit/work-thread.ts'
import type { HighlightRequest } from './highlight-worker.ts'

/** Turns source code into HTML that contains only text and `<span class="hljs-…">`. */
export interface Highlighter {
  /**
   * Returns the HTML; undefined if highlighting failed, took too long now or a short time ago, had to wait too long, or
   * was refused because too many pages wait. The page then shows plain text.
   */
  highlight(text: string, language: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Maximum size of a text that is highlighted. Longer texts are shown without highlighting. */
export const MAX_HIGHLIGHTED_BYTES = 131_072
/**
 * Time limit for highlighting. A hundred kilobytes take about 50 ms, so ordinary texts reach the limit only while the
 * machine is busy.
 */
const MAX_HIGHLIGHT_MS = 1_000
/**
 * Maximum time that a page waits until the thread has highlighted other pages. After this time, the page is shown
 * without highlighting.
 */
const MAX_WAIT_MS = 2_000
/**
 * Maximum number of pages that wait for the thread or are being highlighted. Further pages are shown without
 * highlighting.
 */
const MAX_WAITING = 50
/**
 * How long a text that took too long is not tried again. Otherwise, one view a second of a malicious text would occupy
 * the thread, and all other pages would wait for it. After this time, the text is tried again, because an ordinary text
 * can take too long while the machine is busy.
 */
export const SLOW_FOR_MS = 600_000
/** Maximum number of texts that are remembered because they took too long. They take about 300 KB. */
const MAX_SLOW_TEXTS = 1_000

const WORKER = new URL('./highlight-worker.ts', import.meta.url)

/**
 * Creates a highlighter that runs in a separate thread.
 * @param timeoutMs time limit for one text. A text that takes longer is shown without highlighting.
 */
export function threadHighlighter(timeoutMs: number = MAX_HIGHLIGHT_MS): Highlighter {
  return highlighterWith(
    (onSlow) => workThread(WORKER, { timeoutMs, maxWaitMs: MAX_WAIT_MS, maxWaiting: MAX_WAITING, onSlow }),
    () => performance.now(),
  )
}

/**
 * Creates a highlighter that passes texts to a thread, except texts that took too long a short time ago.
 * @param open opens the thread, which must report the requests that took too long
 * @param monotonic returns monotonic ms
 */
export function highlighterWith(
  open: (onSlow: (request: HighlightRequest) => void) => WorkThread<HighlightRequest, string>,
  monotonic: () => number,
): Highlighter {
  const slow = new LRUCache<string, true>({ max: MAX_SLOW_TEXTS, ttl: SLOW_FOR_MS, ttlResolution: 0, perf: { now: monotonic } })
  const thread = open((request) => slow.set(keyOf(request), true))
  return {
    async highlight(text, language) {
      const request = { text, language }
      // Hashes are computed only if there are slow texts.
      if (slow.size > 0 && slow.has(keyOf(request))) return undefined
      return await thread.ask(request)
    },
    close: thread.close,
  }
}

function keyOf({ text, language }: HighlightRequest): string {
  return `${language} ${hash('sha256', text, 'base64')}`
}
