import hljs from 'highlight.js'
import { answerRequests } from '../work-thread.ts'

export interface HighlightRequest {
  readonly text: string
  readonly language: string
}

/** In a thread of its own: grammars are regular expressions of others, and some text takes them long. */
answerRequests(({ text, language }: HighlightRequest) => hljs.highlight(text, { language, ignoreIllegals: true }).value)
