/** Thrown for invalid queries. */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  readonly code: 'unknown_store' | 'invalid_key' | 'invalid_partition' | 'invalid_range' | 'unknown_parameter'
  constructor(code: QueryError['code'], message: string) {
    super(message)
    this.code = code
  }
}
