import { z } from 'zod'

const MAX_PORT = 65_535
/** The longest delay of a timer in Node. Node replaces longer delays with 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Documents a variable for the table of settings in README.md.
 * @param what the description in the variable's row
 * @param shownDefault the default to show for variables whose default depends on the machine, or that are optional;
 *   otherwise the table shows the default of the schema
 */
export function documented<S extends z.ZodType>(schema: S, what: string, shownDefault?: string): S {
  return schema.meta({ description: what, shownDefault })
}

/** Splits `a, b,c` into its parts. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Accepts a comma-separated list of at least one element. */
export const list = z.string().transform(splitList).pipe(z.array(z.string()).min(1, 'is empty'))

/** Accepts a comma-separated list of at least one of these names. */
export function namesOf(known: readonly string[]) {
  const name = z
    .string()
    .refine((text) => known.includes(text), { error: ({ input }) => `names ${input}, but the known names are: ${known.join(', ')}` })
  return list.pipe(z.array(name))
}

/** Accepts 0 or 1, and converts it to a boolean. */
export const flag = z.enum(['0', '1'], 'is neither 0 nor 1').transform((text) => text === '1')

/**
 * Accepts a whole number from `smallest` to `largest`.
 * @param why follows the message about a number that is too small, to explain the limit
 */
export function wholeNumber(smallest: number, largest = Number.MAX_SAFE_INTEGER, why = '') {
  return z.coerce
    .number('is not a number')
    .int('is not a whole number')
    .min(smallest, `is less than ${smallest}${why}`)
    .max(largest, `is more than ${largest}`)
}

/** Accepts a whole number of milliseconds that a timer can wait. */
export function timerMs() {
  return wholeNumber(0, LONGEST_TIMER_MS)
}

/**
 * Accepts a TCP port to listen on.
 * @param smallest 0 if any free port is acceptable
 */
export function port(smallest: 0 | 1 = 0) {
  return z.coerce.number('is not a port').int('is not a port').min(smallest, 'is not a port').max(MAX_PORT, 'is not a port')
}

/** Accepts a URL that begins with one of these schemes, such as `redis` or `rediss`, and names a host. */
export function addressOf(...schemes: readonly string[]) {
  return z
    .string()
    .trim()
    .superRefine((text, { addIssue }) => {
      const fault = addressFault(text, schemes)
      if (fault !== undefined) addIssue(fault)
    })
}

/** Accepts one URL or several, separated by commas. Each must begin with one of these schemes and name a host. */
export function addressesOf(...schemes: readonly string[]) {
  return z.string().superRefine((text, { addIssue }) => {
    const faults = text.split(',').map((part) => addressFault(part.trim(), schemes))
    const fault = faults.find((each) => each !== undefined)
    if (fault !== undefined) addIssue(fault)
  })
}

/** Returns what is wrong with an address, without the address itself, because it may contain a password. */
function addressFault(text: string, schemes: readonly string[]): string | undefined {
  const starts = schemes.map((scheme) => `${scheme}://`)
  if (!starts.some((start) => text.startsWith(start))) return `does not begin with ${starts.join(' or ')}`
  if (!URL.canParse(text)) return 'is not a URL'
  const { hostname, username, password } = new URL(text)
  if (hostname === '') return 'names no host'
  return isDecodable(username) && isDecodable(password) ? undefined : 'has a % in its user or password: write it as %25'
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

export const logLevel = documented(
  z.enum(LOG_LEVELS, `is not one of ${LOG_LEVELS.join(', ')}`).prefault('info'),
  `what workers and APIs log: ${LOG_LEVELS.join(', ')}`,
)
