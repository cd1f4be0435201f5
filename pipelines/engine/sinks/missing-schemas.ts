/** A wrong schema id is asked for once in this time; a schema that is registered late is found after it. */
const KEPT_MS = 30_000

/** Schemas that the registry said it does not have. */
export interface MissingSchemas {
  has(schemaId: number): boolean
  add(schemaId: number): void
}

/** @param elapsed of a clock that is never set back, ms */
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
