import { TargetUnavailableError } from '../unavailable.ts'
import { NOT_FOUND, reasonOf, requireSuccess } from './answers.ts'
import { pathPart, type SearchAnswer, type SearchClient } from './client.ts'
import { isUnavailable } from './unavailable.ts'

/** Result of a search in an index that has not been filled yet or was deleted. */
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
   * @param body the search in the server's language. It must not contain user input as syntax.
   * @returns the server's answer, which covers every document of the index
   * @throws TargetUnavailableError when the server cannot search every shard now; Error when it refuses the search
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answer depends on the search
  search(index: string, body: object, options?: SearchOptions): Promise<any | typeof NOT_COMPLETE>
  /**
   * Sends several searches in one request. This costs the server and the caller less than separate requests.
   * @returns the answers in the order of the bodies
   * @throws the errors of `search`, if any of the searches fails
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answers depends on the searches
  searchAll(index: string, bodies: readonly object[], options?: SearchOptions): Promise<any[] | typeof NOT_COMPLETE>
}

const TIMEOUT_MS = 2_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Makes a search fail if some shards are missing, because a partial answer must never count as complete. */
const WHOLE_ONLY = { allow_partial_search_results: false }

export function indexReader(client: SearchClient): IndexReader {
  return {
    async search(index, body, { timeoutMs = TIMEOUT_MS, signal } = {}) {
      const answer = await client.call({
        method: 'POST',
        path: `/${pathPart(index)}/_search?allow_partial_search_results=false`,
        body,
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      })
      return whole(index, answer)
    },
    async searchAll(index, bodies, { timeoutMs = TIMEOUT_MS, signal } = {}) {
      const header = JSON.stringify(WHOLE_ONLY)
      const answer = await client.call({
        method: 'POST',
        path: `/${pathPart(index)}/_msearch`,
        body: bodies.map((body) => `${header}\n${JSON.stringify(body)}\n`).join(''),
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      })
      if (answer.status === NOT_FOUND) return NOT_COMPLETE
      requireSuccess(answer, `searching ${index}`)
      const answers = (answer.body.responses as readonly SingleAnswer[]).map((body) => whole(index, requireAvailable(index, body)))
      return answers.includes(NOT_COMPLETE) ? NOT_COMPLETE : answers
    },
  }
}

/** One of the answers to several searches. */
interface SingleAnswer {
  readonly status: number
  readonly error?: unknown
}

/**
 * Checks one of several answers.
 * @throws TargetUnavailableError if the client would throw it for a single search with this status
 */
function requireAvailable(index: string, body: SingleAnswer): SearchAnswer {
  if (isUnavailable(body.status)) throw new TargetUnavailableError(`searching ${index}: ${body.status}: ${reasonOf(body.error)}`)
  return { status: body.status, body }
}

// biome-ignore lint/suspicious/noExplicitAny: the form of the answer depends on the search
function whole(index: string, answer: SearchAnswer): any | typeof NOT_COMPLETE {
  if (answer.status === NOT_FOUND) return NOT_COMPLETE
  requireSuccess(answer, `searching ${index}`)
  const { timed_out: timedOut, _shards: shards } = answer.body
  if (timedOut || shards?.failed > 0)
    throw new TargetUnavailableError(`only part of ${index} was searched, because the time limit was reached or a shard failed`)
  return answer.body
}
