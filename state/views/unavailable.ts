/**
 * Redis does not answer, or not now. Whether it applied the last batch is unknown; the stored offset tells. This error has a file of its own so
 * that the engine knows it without loading the Redis client.
 */
export class ViewStoreUnavailableError extends Error {
  override readonly name = 'ViewStoreUnavailableError'
}
