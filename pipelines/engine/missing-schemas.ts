/**
 * How long an unknown schema id is cached. After this time the registry is asked again, because the schema may be
 * registered late.
 */
const KEPT_MS = 30_000

/** Schema ids that the registry does not have. */
export interface MissingSchemas {
  has(schemaId: number): boolean
  add(schemaId: number): void
}

/** Creates an empty set. @param elapsed reads a monotonic clock, in ms */
export function missingSchemas(elapsed: () => number): MissingSchemas {
  const since = new Map<number, number>()
  return {
    has(schemaId) {
      const at = since.get(schemaId)
      if (at === undefined) return false
      if (elapsed() - at < KEPT_MS) return true
      since.delete(schemaId)
      return false
    },
    add(schemaId) {
      since.set(schemaId, elapsed())
    },
  }
}
