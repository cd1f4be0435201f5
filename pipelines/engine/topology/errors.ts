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
