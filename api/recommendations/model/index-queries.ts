import type { SearchOutcome, SearchQuery } from './index-messages.ts'
import type { VectorIndex } from './vector-index.ts'

/**
 * Answers a query in the thread of the index. A query whose deadline has passed is dropped, because its caller no
 * longer waits. A thread that has fallen behind can thus catch up.
 * @param nowMs the time on the clock that all threads share
 */
export function answerQuery(
  index: Pick<VectorIndex, 'search'>,
  { id, vector, count, by, deadlineMs }: SearchQuery,
  nowMs: number,
): SearchOutcome {
  if (nowMs >= deadlineMs) return { id, isLate: true }
  try {
    const found = index.search(vector, count, by)
    return { id, keys: Uint32Array.from(found, ({ key }) => key), values: Float64Array.from(found, ({ value }) => value) }
  } catch (error) {
    return { id, failure: (error as Error).message }
  }
}
