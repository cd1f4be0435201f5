/** An item that a search has found. */
export interface NearItem {
  readonly itemId: bigint
  readonly similarity: number
}

/** A trained model, opened in this process. */
export interface RecommendationModel {
  /** The time of the training run and a hash of the bundle's manifest. */
  readonly version: string
  /** The `embedding_version` of the model, counted from 1. */
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
  /**
   * Computes the user's vector (length 1) from weighted interactions; undefined if the model has factors for none of
   * the items.
   */
  foldIn(history: readonly { readonly itemId: bigint; readonly weight: number }[]): Float32Array | undefined
  /**
   * Returns the items whose factors have the largest products with the vector, best first. The similarity is
   * approximately the product that `productWith` returns.
   */
  nearest(vector: Float32Array, count: number): readonly NearItem[]
  /**
   * Returns the items whose vectors have the highest cosine similarity to the given item's vector, best first. The
   * similarity is approximate, and may be slightly greater than 1.
   */
  similarTo(itemId: bigint, count: number): readonly NearItem[]
  /**
   * Returns the product of a user's vector and an item's factors, divided by the maximum length of any trained item's
   * factors; undefined if the model has no factors for the item. The product ranks much better than the cosine, because
   * the length of the factors shows how much is known about the item.
   */
  productWith(vector: Float32Array, itemId: bigint): number | undefined
  /**
   * Returns the vector (length 1) of an item; undefined if the model has none. For an item that is newer than the
   * model, the vector is computed from the item's content.
   */
  vectorOf(itemId: bigint): Float32Array | undefined
  /** Computes the vector of an item that is newer than the model. Call this again when the item's content changes. */
  addItem(item: {
    readonly itemId: bigint
    readonly title: string
    readonly categoryPath: string
    readonly attributes: Readonly<Record<string, string>>
  }): void
  /** Removes the vector of an item that is newer than the model, if there is one. */
  removeItem(itemId: bigint): void
  /**
   * Scores rows of ranking features (row-major, in the order of RANKING_FEATURES) with the trees. A logistic function
   * maps each score to a number from 0 to 1. Returns undefined if the trees cannot be used.
   */
  score(features: Float64Array, rows: number): Float64Array | undefined
}

export interface ModelSource {
  /**
   * Returns the champion, or the challenger for its share of the users; undefined if there is no model.
   * @param userId undefined if the answer does not concern a user
   */
  current(userId: bigint | string | undefined): RecommendationModel | undefined
}
