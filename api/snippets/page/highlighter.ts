import { workThread } from '../../kit/work-thread.ts'
import type { HighlightRequest } from './highlight-worker.ts'

/** Turns source code into HTML that contains only text and `<span class="hljs-…">`. */
export interface Highlighter {
  /**
   * Returns the HTML; undefined if highlighting failed, took too long, had to wait too long, or was refused because too
   * many pages wait. The page then shows plain text.
   */
  highlight(text: string, language: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Maximum size of a text that is highlighted. Longer texts are shown without highlighting. */
export const MAX_HIGHLIGHTED_BYTES = 131_072
/** Time limit for highlighting. A hundred kilobytes take about 50 ms, so only malicious texts reach the limit. */
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

const WORKER = new URL('./highlight-worker.ts', import.meta.url)

/**
 * Creates a highlighter that runs in a separate thread.
 * @param timeoutMs time limit for one text. A text that takes longer is shown without highlighting.
 */
export function threadHighlighter(timeoutMs: number = MAX_HIGHLIGHT_MS): Highlighter {
  const thread = workThread<HighlightRequest, string>(WORKER, { timeoutMs, maxWaitMs: MAX_WAIT_MS, maxWaiting: MAX_WAITING })
  return { highlight: (text, language) => thread.ask({ text, language }), close: thread.close }
}
