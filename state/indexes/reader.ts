import { TargetUnavailableError } from '../unavailable.ts'
import { NOT_FOUND, requireSuccess } from './answers.ts'
import { pathPart, type SearchClient } from './client.ts'

/** The index has not been filled yet, or was wiped. */
export const NOT_COMPLETE = Symbol('index not complete')

export interface SearchOptions {
  /** Default 2 s. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Searches complete indexes. */
export interface IndexReader {
  /**
   * @param index the index's name, without a number
   * @param body the search in the server's language. It must not contain text of users as syntax.
   * @returns the server's answer, which covers every document of the index
   * @throws TargetUnavailableError when the server cannot give a whole answer now; Error when it refuses the search
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answer depends on the search
  search(index: string, body: object, options?: SearchOptions): Promise<any | typeof NOT_COMPLETE>
}

const TIMEOUT_MS = 2_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

export function indexReader(client: SearchClient): IndexReader {
  return {
    async search(index, body, { timeoutMs = TIMEOUT_MS, signal } = {}) {
      const answer = await client.call({
        method: 'POST',
        // A part of the shards must never pass for the whole.
        path: `/${pathPart(index)}/_search?allow_partial_search_results=false`,
        body,
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      })
      if (answer.status === NOT_FOUND) return NOT_COMPLETE
      requireSuccess(answer, `searching ${index}`)
      const { timed_out: timedOut, _shards: shards } = answer.body
      if (timedOut || shards?.failed > 0) throw new TargetUnavailableError(`only a part of ${index} was searched`)
      return answer.body
    },
  }
}
