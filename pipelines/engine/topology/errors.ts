/** Thrown when a topology cannot run: during its declaration, or when its worker or one of its tasks starts. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError'
}

/**
 * Thrown when the author's code has thrown an error or broken a rule of the engine. Also thrown when a record has
 * failed and its source has the policy `fail`, or when a value of a store cannot be read or written. The worker stops,
 * unless the policy of a source lets it skip the record that failed (`RecordFailure`, `RowFailure`).
 */
export class ProcessorError extends Error {
  override readonly name = 'ProcessorError'
}

/**
 * Checks the result of a handler that must return nothing. TypeScript accepts an async function as such a handler, but
 * what the function does after its first `await` would not be part of a commit.
 * @throws ProcessorError when the result is a promise
 */
export function expectNoPromise(result: unknown): void {
  if (!(result instanceof Promise)) return
  result.catch(() => {}) // The error below is the one that the author must see.
  throw new ProcessorError('it returned a promise, but handlers are synchronous')
}
