import { parentPort } from 'node:worker_threads'
import hljs from 'highlight.js'

export interface HighlightRequest {
  readonly sequence: number
  readonly text: string
  readonly language: string
}

export interface HighlightReply {
  readonly sequence: number
  readonly html: string
}

/** In a thread of its own: grammars are regular expressions of others, and some text takes them long. */
parentPort!.on('message', ({ sequence, text, language }: HighlightRequest) => {
  const { value } = hljs.highlight(text, { language, ignoreIllegals: true })
  parentPort!.postMessage({ sequence, html: value } satisfies HighlightReply)
})

/** Grammars are loaded: from now on requests take their own time only. */
parentPort!.postMessage('ready')
