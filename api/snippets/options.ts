import { z } from '@hono/zod-openapi'
import { normalised } from '../../schemas/normalised.ts'
import { ApiError, type ErrorDetail, errors } from '../kit/errors.ts'
import { onceOr } from '../kit/parameters.ts'
import { snippetErrors } from './errors.ts'
import { knownLanguage } from './languages/names.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DAYS_OF_WEEK = 7
/** Number of days in the lifetime `1M`. A lifetime is a fixed duration, so it does not depend on the calendar. */
const DAYS_OF_MONTH = 30

/** Lifetimes in ms; null if unlimited. */
const LIFETIMES = {
  '10m': 10 * MINUTE_MS,
  '1h': HOUR_MS,
  '1d': DAY_MS,
  '1w': DAYS_OF_WEEK * DAY_MS,
  '1M': DAYS_OF_MONTH * DAY_MS,
  never: null,
} as const
const EXPIRATIONS = Object.keys(LIFETIMES) as (keyof typeof LIFETIMES)[]
const VISIBILITIES = ['public', 'unlisted', 'private'] as const
const MAX_TITLE_CHARACTERS = 255
const MAX_BURN_READS = 1_000

const BURN_READS_RANGE = `must be an integer from 1 to ${MAX_BURN_READS}`

/** Also accepts a number as text, because forms and queries contain only text. */
const burnAfterReads = z
  .union(
    [
      z.int(),
      z
        .string()
        .regex(/^[1-9]\d*$/)
        .transform(Number),
    ],
    BURN_READS_RANGE,
  )
  .refine((reads) => reads >= 1 && reads <= MAX_BURN_READS, BURN_READS_RANGE)
  .nullish()
  .openapi({
    type: 'integer',
    minimum: 1,
    maximum: MAX_BURN_READS,
    description: 'The snippet is deleted after this many reads. It is listed only for its owner, and the search never finds it.',
  })

/** Schema of all options of a snippet, without its content. */
export const SnippetOptions = z.object({
  title: z
    .string(onceOr('must be a string'))
    .transform((text) => normalised(text))
    .refine((text) => [...text].length <= MAX_TITLE_CHARACTERS, `must have at most ${MAX_TITLE_CHARACTERS} characters`)
    .refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters')
    .nullish()
    .openapi({ type: 'string', maxLength: MAX_TITLE_CHARACTERS }),
  language: z.unknown().optional().openapi({
    type: 'string',
    description:
      'A name or alias of a highlight.js language. If omitted, a new version keeps the language of its predecessor, and for other snippets the language is detected.',
    example: 'python',
  }),
  expiration: z
    .enum(EXPIRATIONS, `must be one of ${EXPIRATIONS.join(', ')}`)
    .nullish()
    .openapi({ description: 'Default: never.' }),
  visibility: z
    .enum(VISIBILITIES, `must be one of ${VISIBILITIES.join(', ')}`)
    .nullish()
    .openapi({ description: 'Default: unlisted; for a new version, the visibility of its predecessor.' }),
  burn_after_reads: burnAfterReads,
})

export interface CheckedOptions {
  readonly title: string | null
  /** The language; undefined if the request names none. */
  readonly language: string | undefined
  /** The lifetime in ms; null if unlimited. */
  readonly lifetimeMs: number | null
  /** The visibility; undefined for the default. */
  readonly visibility: (typeof VISIBILITIES)[number] | undefined
  readonly readsLeft: number | null
}

/** Validates the options. Throws ApiError: `invalid_language`, or `invalid_request` with a list of all problems. */
export function checkedOptions(given: Readonly<Record<string, unknown>>): CheckedOptions {
  const result = SnippetOptions.safeParse(given)
  if (!result.success) {
    const details: ErrorDetail[] = result.error.issues.map(({ path, message }) => ({ path: ['body', ...path].join('.'), message }))
    throw new ApiError(errors.invalid_request, { details })
  }
  const { title, language, expiration, visibility, burn_after_reads } = result.data
  return {
    title: title === undefined || title === null || title === '' ? null : title,
    language: languageOf(language),
    lifetimeMs: LIFETIMES[expiration ?? 'never'],
    visibility: visibility ?? undefined,
    readsLeft: burn_after_reads ?? null,
  }
}

function languageOf(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined
  const known = typeof given === 'string' ? knownLanguage(given) : undefined
  if (known === undefined) throw new ApiError(snippetErrors.invalid_language)
  return known
}
