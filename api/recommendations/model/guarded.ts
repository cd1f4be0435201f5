import type { RecommendationModel } from './model.ts'
import { SearchError } from './trained-index.ts'

/**
 * The parts of a model. A list can be computed even if some or all parts fail. `search` is the search for the nearest
 * vectors. If a search gets no answer, the vectors that are known without a search are still used.
 */
export type ModelPart = 'vectors' | 'search' | 'ranking'

export interface GuardedModel extends RecommendationModel {
  /** The parts that have failed so far. */
  readonly failed: ReadonlySet<ModelPart>
}

/**
 * Wraps a model for one request. If a part of the model fails, the request continues without this part and does not use
 * it again.
 */
export function guarded(model: RecommendationModel, onFailure: (part: ModelPart, error: unknown) => void): GuardedModel {
  const failed = new Set<ModelPart>()

  function ask<T>(part: ModelPart, otherwise: T, question: () => T): T {
    if (failed.has(part)) return otherwise
    try {
      return question()
    } catch (error) {
      fail(part, error)
      return otherwise
    }
  }

  async function search<T>(question: () => Promise<readonly T[]>): Promise<readonly T[]> {
    if (failed.has('vectors') || failed.has('search')) return []
    try {
      return await question()
    } catch (error) {
      fail(error instanceof SearchError ? 'search' : 'vectors', error)
      return []
    }
  }

  /** Several searches can fail at the same time. Only the first failure of a part is reported. */
  function fail(part: ModelPart, error: unknown): void {
    if (failed.has(part)) return
    failed.add(part)
    onFailure(part, error)
  }

  return {
    version: model.version,
    sequence: model.sequence,
    trainedAt: model.trainedAt,
    failed,
    foldIn: (history) => ask('vectors', undefined, () => model.foldIn(history)),
    nearest: (vector, count) => search(() => model.nearest(vector, count)),
    similarTo: (itemId, count) => search(() => model.similarTo(itemId, count)),
    productWith: (vector, itemId) => ask('vectors', undefined, () => model.productWith(vector, itemId)),
    vectorOf: (itemId) => ask('vectors', undefined, () => model.vectorOf(itemId)),
    addItem: (item) => model.addItem(item),
    removeItem: (itemId) => model.removeItem(itemId),
    score: (features, rows) => ask('ranking', undefined, () => model.score(features, rows)),
  }
}
