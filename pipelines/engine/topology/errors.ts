/** Thrown when a topology cannot run, during its declaration or when its worker starts. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError'
}

/**
 * Thrown when the author's code has thrown an error, or when a record has failed and its source has the policy `fail`.
 * The worker stops, because it may skip a record only if the policy of the source allows this.
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError'
}
