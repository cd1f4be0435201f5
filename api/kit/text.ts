import { isUtf8 } from 'node:buffer'
import { ApiError, type ErrorDetail, errors } from './errors.ts'

/** Maximum nesting depth of a JSON body. No valid request of the API is nested deeper. */
const MAX_JSON_DEPTH = 64

/** Decodes strict UTF-8. Drops a byte order mark at the start, as RFC 8259 allows for JSON. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new ApiError(errors.invalid_encoding, { message: 'The body is not valid UTF-8.' })
  return new TextDecoder().decode(bytes)
}

/**
 * Rejects NUL and lone surrogates anywhere in parsed JSON, including field names, and JSON that is nested too deeply.
 * The check is not recursive, so deep nesting cannot overflow the stack.
 */
export function assertCleanText(value: unknown): void {
  visit(value, assertCleanString)
}

/** Rejects parsed JSON that is nested too deeply. */
export function assertShallow(value: unknown): void {
  visit(value, () => undefined)
}

/**
 * Calls `onText` with every string and field name, level by level. Throws ApiError `invalid_request` if there are too
 * many levels.
 */
function visit(value: unknown, onText: (text: string) => void): void {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH)
      throw new ApiError(errors.invalid_request, { message: `The body is nested deeper than ${MAX_JSON_DEPTH} levels.` })
    const next: unknown[] = []
    for (const item of level) {
      if (typeof item === 'string') onText(item)
      else if (Array.isArray(item)) for (const element of item) next.push(element)
      else if (typeof item === 'object' && item !== null) {
        for (const [name, field] of Object.entries(item)) {
          onText(name)
          next.push(field)
        }
      }
    }
    level = next
  }
}

function assertCleanString(text: string): void {
  const fault = faultOf(text)
  if (fault !== undefined) throw new ApiError(errors.invalid_encoding, { message: `Text ${fault}.` })
}

function faultOf(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL'
  return text.isWellFormed() ? undefined : 'must not contain lone surrogates'
}

/**
 * Returns the places at which parsed JSON contains text that `assertCleanText` rejects. Used by routes that report all
 * faults of a body at once. If a field name is rejected, the path leads to the object with the field.
 * @param place the first part of each path
 * @throws ApiError `invalid_request` for JSON that is nested too deeply
 */
export function textFaults(value: unknown, place: string): ErrorDetail[] {
  try {
    assertCleanText(value)
    return []
  } catch (error) {
    if (!(error instanceof ApiError) || error.definition !== errors.invalid_encoding) throw error
    // The check above ends at the first fault. It may therefore have missed that the value is nested too deeply for the
    // recursion below.
    assertShallow(value)
    return faultsWithin(value, place)
  }
}

/** Returns the faults of all strings and field names in a value. */
function faultsWithin(value: unknown, path: string): ErrorDetail[] {
  if (typeof value === 'string') {
    const message = faultOf(value)
    return message === undefined ? [] : [{ path, message }]
  }
  if (Array.isArray(value)) return value.flatMap((element, index) => faultsWithin(element, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]) => {
    const fault = faultOf(name)
    return fault === undefined ? faultsWithin(field, `${path}.${name}`) : [{ path, message: `the name of a field ${fault}` }]
  })
}

/** Throws `invalid_encoding` if a path or query is not valid percent-encoded UTF-8 or contains NUL. */
export function assertCleanUrl(url: string): void {
  if (!url.includes('%')) return
  let decoded: string
  try {
    decoded = decodeURIComponent(url)
  } catch {
    throw new ApiError(errors.invalid_encoding, { message: 'The address is not valid percent-encoded UTF-8.' })
  }
  if (decoded.includes('\0')) throw new ApiError(errors.invalid_encoding, { message: 'The address must not contain NUL.' })
}
