/**
 * JSON with whole numbers kept exactly: a long default beyond 2^53 would be rounded by JSON.parse.
 * Such a number becomes a raw JSON value, which JSON.stringify writes back digit by digit.
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, keepExact as (key: string, value: unknown) => unknown)
}

function keepExact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !context?.source || !/^-?\d+$/.test(context.source)) return value
  return rawJson.rawJSON(context.source)
}

/** Part of the language since V8 11.4; not yet in the type library. */
interface RawJson {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}
const rawJson = JSON as unknown as RawJson

/** An integer, undefined when the value is none or is beyond 2^53 without its digits. */
export function exactInteger(value: unknown): bigint | undefined {
  if (rawJson.isRawJSON(value)) return BigInt(value.rawJSON)
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}

/** True for any JSON number, exact ones included. */
export function isNumber(value: unknown): boolean {
  return typeof value === 'number' || rawJson.isRawJSON(value)
}

/** JSON text with the keys of every object sorted: equal values have equal text. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`
  if (value === null || typeof value !== 'object' || rawJson.isRawJSON(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${stableJson(entry)}`).join(',')}}`
}
