/**
 * How long an unknown schema id is cached. After this time, the registry is queried again, because the schema may have
 * been registered in the meantime.
 */
const KEPT_MS = 30_000
/** Number of ids at which the cache is emptied. The limit keeps a producer of random ids from filling the memory. */
const KEPT_IDS = 10_000

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
      if (since.size >= KEPT_IDS) since.clear()
      since.set(schemaId, elapsed())
    },
  }
}
