import { workThread } from '../work-thread.ts'
import type { HighlightRequest } from './highlight-worker.ts'

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

/** @param timeoutMs what takes longer is shown plain */
export function threadHighlighter(timeoutMs: number = MAX_HIGHLIGHT_MS): Highlighter {
  const thread = workThread<HighlightRequest, string>(WORKER, { timeoutMs, maxWaiting: MAX_WAITING })
  return { highlight: (text, language) => thread.ask({ text, language }), close: thread.close }
}
