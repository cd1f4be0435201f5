/** Thrown when a topology cannot run, during its declaration or when its worker starts. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError'
}

/**
 * Thrown when the author's code has thrown, or a record with the policy `fail` has failed. The worker stops, because it
 * may skip a record only if the policy of the source allows that.
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError'
}
