/**
 * Thrown when the database does not respond or cannot accept changes now. A retry may help. Whether the database
 * applied the last change is unknown until the stored position is read. This error has a separate file, so that the
 * engine can recognise it without loading the clients of the databases.
 */
export class TargetUnavailableError extends Error {
  override readonly name = 'TargetUnavailableError'
}
