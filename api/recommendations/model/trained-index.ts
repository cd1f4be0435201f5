import { type NearBy, type NearRow, type VectorIndex, viewVectorIndex } from './vector-index.ts'

/** The index of the items that a model was trained on. */
export interface TrainedIndex {
  readonly size: number
  /**
   * Finds the rows with the largest products or cosines, best first.
   * @throws SearchError if another thread searches the index, and the search is refused or gets no answer in time
   */
  search(vector: Float32Array, count: number, by: NearBy): Promise<NearRow[]>
  /** Closes the index once all running searches have ended. */
  close(): Promise<void>
}

/**
 * Opens a saved index.
 * @param roots square roots of the lengths of the vectors, indexed by key. Other threads can read them.
 * @throws Error if the file is missing, or is not an index of vectors with these dimensions
 */
export type OpenIndex = (path: string, dimensions: number, roots: Float32Array<SharedArrayBuffer>) => Promise<TrainedIndex>

/** Why a search got no answer: it took too long, too many searches were waiting, or the thread was not running. */
export type Unanswered = 'late' | 'full' | 'away'

/** Error for a search that got no answer. A later search may get one. */
export class SearchError extends Error {
  override readonly name = 'SearchError'
  readonly reason: Unanswered

  constructor(reason: Unanswered, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Opens an index that is searched in the calling thread. */
export const indexHere: OpenIndex = async (path, dimensions, roots) => {
  const index = viewVectorIndex(path, dimensions, roots)
  return { size: index.size, ...searchedHere(index) }
}

/** Searches in the calling thread. */
export function searchedHere(index: Pick<VectorIndex, 'search'>): Pick<TrainedIndex, 'search' | 'close'> {
  return {
    search: async (vector, count, by) => index.search(vector, count, by),
    close: async () => undefined,
  }
}
