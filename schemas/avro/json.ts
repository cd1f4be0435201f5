/**
 * Parses JSON and keeps integers exact, because JSON.parse would round the default of a long beyond 2^53. Such an
 * integer becomes a raw JSON value, which JSON.stringify writes with all its digits.
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, keepExact as (key: string, value: unknown) => unknown)
}

function keepExact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !context?.source || !/^-?\d+$/.test(context.source)) return value
  return rawJson.rawJSON(context.source)
}

/** Functions that V8 has had since 11.4, but that TypeScript's library types lack. */
interface RawJson {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}
const rawJson = JSON as unknown as RawJson

/**
 * Returns the value as an integer; undefined when it is not an integer, or is a number beyond 2^53 whose exact digits
 * are lost.
 */
export function exactInteger(value: unknown): bigint | undefined {
  if (rawJson.isRawJSON(value)) return BigInt(value.rawJSON)
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}

/** Returns true for any JSON number, including raw JSON numbers. */
export function isNumber(value: unknown): boolean {
  return typeof value === 'number' || rawJson.isRawJSON(value)
}

/** Returns JSON text with sorted object keys, so that equal values have equal text. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`
  if (value === null || typeof value !== 'object' || rawJson.isRawJSON(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${stableJson(entry)}`).join(',')}}`
}
