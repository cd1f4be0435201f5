/** Thrown when a topology cannot run, during its declaration or when its worker starts. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError'
}

/**
 * Thrown when the author's code has thrown, or a record with the policy `fail` has failed. The worker stops, because it
 * must not skip a bug unless its source's policy says so.
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError'
}
