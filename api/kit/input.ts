import type { z } from '@hono/zod-openapi'
import { ApiError, type ErrorDetail, errors, invalidRequest } from './errors.ts'

/** Parses query parameters by name. A repeated parameter becomes a list. Schemas for single values reject lists. */
export function queryOf(url: string): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = Object.create(null)
  const start = url.indexOf('?')
  if (start < 0) return values
  const end = url.indexOf('#', start)
  for (const [name, value] of new URLSearchParams(url.slice(start + 1, end < 0 ? undefined : end))) {
    const before = values[name]
    if (before === undefined) values[name] = value
    else if (Array.isArray(before)) before.push(value)
    else values[name] = [before, value]
  }
  return values
}

/** The output of a schema, or the problems in its input. */
export type Checked = { readonly value: unknown; readonly details: readonly ErrorDetail[] }

/**
 * Validates one part of a request.
 * @param place the part, such as `query` or `body.urls[3]`. The path of each problem begins with this text.
 */
export function check(schema: z.ZodType | undefined, input: unknown, place: string): Checked {
  if (schema === undefined) return { value: undefined, details: [] }
  const result = schema.safeParse(input)
  if (result.success) return { value: result.data, details: [] }
  return { value: undefined, details: result.error.issues.map((issue) => ({ path: pathOf(place, issue.path), message: issue.message })) }
}

function pathOf(place: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`), place)
}

export function assertValid(...checked: readonly Checked[]): void {
  const details = checked.flatMap((one) => one.details)
  if (details.length > 0) throw new ApiError(errors.invalid_request, { details })
}

export const IDEMPOTENCY_KEY_PATTERN = /^[ -~]{1,128}$/

/** Validates the Idempotency-Key. Returns undefined if the caller sent none. */
export function idempotencyKeyFrom(given: string | undefined): string | undefined {
  if (given === undefined || IDEMPOTENCY_KEY_PATTERN.test(given)) return given
  const message = 'must be 1 to 128 printable ASCII characters'
  throw invalidRequest('header.idempotency-key', message)
}

/** Returns the entity tag of a resource with this version. */
export function versionTag(version: number): string {
  return `"${version}"`
}

/**
 * Matches a version tag. The tag may be weak, because proxies that compress an answer make its tag weak. This is safe,
 * because a version identifies the state of a resource and not the bytes of an answer.
 */
const VERSION_TAG = /^(?:W\/)?"?(0|[1-9]\d{0,14})"?$/

/** Returns the version that If-Match names; undefined if the caller sent no If-Match, or accepts every version. */
export function expectedVersionFrom(given: string | undefined): number | undefined {
  const tag = given?.trim()
  if (tag === undefined || tag === '*') return undefined
  const version = VERSION_TAG.exec(tag)?.[1]
  if (version === undefined) throw invalidRequest('header.if-match', 'must be a version, such as "3"')
  return Number(version)
}
