/**
 * ClickHouse does not answer, or not now. Whether it applied the last insert is unknown. Every method of a table store throws this error when a
 * retry may help. It has a file of its own so that the engine knows it without loading ClickHouse's client.
 */
export class TableStoreUnavailableError extends Error {
  override readonly name = 'TableStoreUnavailableError'
}
