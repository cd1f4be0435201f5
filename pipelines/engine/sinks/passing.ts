import { FencedError, TransportError } from '../../../kafka/transport.ts'
import { OwnedElsewhereError } from './ownership.ts'
import { TargetUnavailableError } from './target.ts'

/**
 * Returns true for errors that may disappear when the request is retried. FencedError also counts as such an error,
 * because it must not stop the sink: the lost membership also arrives as an event, and that event closes the lane.
 */
export function isPassing(error: unknown): error is Error {
  return (
    error instanceof TargetUnavailableError ||
    error instanceof OwnedElsewhereError ||
    error instanceof FencedError ||
    (error instanceof TransportError && !error.fatal)
  )
}
