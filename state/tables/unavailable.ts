/**
 * Thrown when ClickHouse does not respond or cannot accept rows now. Whether it applied the last insert is unknown.
 * Every method of a table store throws this error when retrying may help. It has a separate file, so that the engine
 * can recognize it without loading the ClickHouse client.
 */
export class TableStoreUnavailableError extends Error {
  override readonly name = 'TableStoreUnavailableError'
}
