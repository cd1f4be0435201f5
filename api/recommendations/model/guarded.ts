import type { RecommendationModel } from './model.ts'

/** The parts of a model. A list can be computed even if one or both parts fail. */
export type ModelPart = 'vectors' | 'ranking'

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
      failed.add(part)
      onFailure(part, error)
      return otherwise
    }
  }

  return {
    version: model.version,
    sequence: model.sequence,
    trainedAt: model.trainedAt,
    failed,
    foldIn: (history) => ask('vectors', undefined, () => model.foldIn(history)),
    nearest: (vector, count) => ask('vectors', [], () => model.nearest(vector, count)),
    similarTo: (itemId, count) => ask('vectors', [], () => model.similarTo(itemId, count)),
    productWith: (vector, itemId) => ask('vectors', undefined, () => model.productWith(vector, itemId)),
    vectorOf: (itemId) => ask('vectors', undefined, () => model.vectorOf(itemId)),
    addItem: (item) => model.addItem(item),
    removeItem: (itemId) => model.removeItem(itemId),
    score: (features, rows) => ask('ranking', undefined, () => model.score(features, rows)),
  }
}
