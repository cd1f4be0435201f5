/** A trained model, opened in this process. */
export interface RecommendationModel {
  /** Time and hash of the bundle. */
  readonly version: string
  /** The version of its embeddings. */
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
  /**
   * Returns the user's vector (length 1), folded in from weighted interactions by conjugate gradients; undefined if no
   * item is known.
   */
  foldIn(history: readonly { readonly itemId: bigint; readonly weight: number }[]): Float32Array | undefined
  /** Returns the items with the greatest products with the vector, best first: the same number as `productWith`. */
  nearest(vector: Float32Array, count: number): { readonly itemId: bigint; readonly similarity: number }[]
  /** Returns the items with the greatest cosine to this one, best first. */
  similarTo(itemId: bigint, count: number): { readonly itemId: bigint; readonly similarity: number }[]
  /**
   * Returns the product of a user's vector with an item's factors, whose length says how much is known of it. It ranks
   * much better than the cosine. The greatest possible one is 1.
   */
  productWith(vector: Float32Array, itemId: bigint): number | undefined
  /** Returns the vector (length 1) of a trained item, or the one by content of a newer item that was added. */
  vectorOf(itemId: bigint): Float32Array | undefined
  addItem(item: {
    readonly itemId: bigint
    readonly title: string
    readonly categoryPath: string
    readonly attributes: Readonly<Record<string, string>>
  }): void
  /**
   * Scores rows of ranking features (row-major, in the order of RANKING_FEATURES) with the trees, from 0 to 1 through a
   * logistic; undefined if the trees cannot be asked.
   */
  score(features: Float64Array, rows: number): Float64Array | undefined
}

export interface ModelSource {
  /**
   * Returns the champion, or the challenger for its share of the users; undefined without a model.
   * @param userId undefined if the answer does not concern a user
   */
  current(userId: bigint | string | undefined): RecommendationModel | undefined
}
