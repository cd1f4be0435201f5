/** The topology as declared cannot run. Thrown while it is declared or when its worker starts. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError'
}

/** The author's code threw, or a record was refused under the policy `fail`. The worker stops: a bug is never skipped. */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError'
}
