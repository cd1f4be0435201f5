import hljs from 'highlight.js'
import { answerRequests } from '../../kit/work-thread.ts'

export interface HighlightRequest {
  readonly text: string
  readonly language: string
}

/**
 * Highlights texts in a separate thread, because the grammars of highlight.js are regular expressions that are slow for
 * some texts.
 */
answerRequests(({ text, language }: HighlightRequest) => hljs.highlight(text, { language, ignoreIllegals: true }).value)
