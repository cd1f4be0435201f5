/**
 * Thrown when Redis does not respond or cannot apply the batch now. Whether it applied the last batch is unknown until
 * the stored position is read. This error has a separate file, so that the engine can recognize it without loading the
 * Redis client.
 */
export class ViewStoreUnavailableError extends Error {
  override readonly name = 'ViewStoreUnavailableError'
}
