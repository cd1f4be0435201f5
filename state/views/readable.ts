/**
 * Parses a JSON value of a view that a response does not strictly need. Returns undefined if there is no value or it
 * cannot be parsed, for example because it is damaged. If this function threw an error instead, a single damaged value
 * would make whole lists fail until the sink replaces it.
 */
export function readableJson<T>(text: string | null): T | undefined {
  if (text === null) return undefined
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}
