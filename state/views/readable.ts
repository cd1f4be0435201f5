/**
 * Parses a JSON value of a view that a response can do without; undefined if it cannot be parsed, for example because
 * it is damaged. One such value must not make whole lists fail until the sink replaces it.
 */
export function readableJson<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}
