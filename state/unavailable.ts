/**
 * The database does not respond or cannot accept changes now, and a retry may help. Whether it applied the last change
 * is unknown until the stored position is read. This error has a separate file, so that the engine can recognize it
 * without loading the clients of the databases.
 */
export class TargetUnavailableError extends Error {
  override readonly name = 'TargetUnavailableError'
}
