/** Thrown for an invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Reads, validates and describes one option or positional argument. */
export interface Option<T> {
  readonly description: string
  /** Placeholder for the value in the help text, such as `N`; undefined when the option takes no value. */
  readonly placeholder: string | undefined
  /** The default value as the user would type it; undefined when there is none. */
  readonly fallback: string | undefined
  readonly isRequired: boolean
  /** True when the option may be given several times. */
  readonly isRepeated: boolean
  /**
   * Reads the values of the option.
   * @param given all values of the option, in order
   * @throws UsageError whose message follows the option's name, such as "must not be empty"
   */
  read(given: readonly string[]): T
}

interface Described<Default> {
  readonly default?: Default
  /** Placeholder for the value in the help text. */
  readonly placeholder?: string
}

interface Bounds extends Described<number> {
  /** Minimum value; 0 by default. */
  readonly min?: number
  readonly max?: number
}

/** The declared option. Its value is undefined only if the user omits the option and it has no default. */
type OptionOf<T, D> = Option<D extends { readonly default: unknown } ? T : T | undefined>

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** Declares an option without a value. The result is true when the option is given. */
export function flag(description: string): Option<boolean> {
  const read = (given: readonly string[]) => given.length > 0
  return { description, placeholder: undefined, fallback: undefined, isRequired: false, isRepeated: false, read }
}

export function text<D extends Described<string>>(description: string, described?: D): OptionOf<string, D> {
  return single(description, described, 'TEXT', (value) => {
    if (value === '') throw new UsageError('must not be empty')
    return value
  })
}

/** Declares a finite number within the bounds. */
export function number<D extends Bounds>(description: string, bounds?: D): OptionOf<number, D> {
  return single(description, bounds, 'N', (value) => parseNumber(value, bounds, 'number'))
}

/** Declares an integer within the bounds. */
export function integer<D extends Bounds>(description: string, bounds?: D): OptionOf<number, D> {
  return single(description, bounds, 'N', (value) => parseNumber(value, bounds, 'integer'))
}

/** Declares a number with a unit, such as `90s`. The result is in milliseconds. */
export function duration<D extends Described<string>>(description: string, described?: D): OptionOf<number, D> {
  return single(description, described, 'TIME', (value) => {
    const match = DURATION.exec(value)
    if (match === null) throw new UsageError('must be a number with a unit, such as 90s, 10m or 1h')
    return Number(match[1]) * UNITS_MS[match[2]]
  })
}

/** Declares a choice of one of several words. */
export function choice<const T extends string, D extends Described<NoInfer<T>>>(
  description: string,
  of: readonly T[],
  described?: D,
): OptionOf<T, D> {
  return single(description, described, of.join('|'), (value) => parseChoice(value, of))
}

/** Declares a comma-separated list of words. If the default is `all`, this word stands for the whole list. */
export function choices<const T extends string, D extends { readonly default?: 'all' }>(
  description: string,
  of: readonly T[],
  described?: D,
): OptionOf<readonly T[], D> {
  const whole = `${description} Choose from ${of.join(', ')}.`
  const words = new Set<string>(of)
  return single(whole, described, 'LIST', (value) => {
    if (value === described?.default) return of
    const chosen = value.split(',')
    if (chosen.every((one) => words.has(one))) return chosen as T[]
    throw new UsageError(`must be one or more of ${of.join(', ')} (separated by commas)`)
  })
}

/** Declares a comma-separated list of integers. */
export function integers(description: string, bounds: Omit<Bounds, 'default'> & { readonly default: string }): Option<readonly number[]> {
  const { min, max } = bounds
  const parse = (one: string) => parseNumber(one, { min, max }, 'integer')
  return single(description, bounds, 'N,N', (value) => value.split(',').map(parse))
}

/** Allows an option to be given several times. A repeated positional argument takes all remaining words. */
export function repeated<T>(option: Option<T | undefined>): Option<readonly T[]> {
  return { ...option, isRepeated: true, read: (given) => given.map((value) => option.read([value]) as T) }
}

/** Makes an option mandatory. */
export function required<T>(option: Option<T | undefined>): Option<T> {
  return { ...option, isRequired: true, read: (given) => option.read(given) as T }
}

/** Declares an option with one value. If the option is given twice, the last value applies, as in most programs. */
function single<T, D extends Described<unknown>>(
  description: string,
  described: D | undefined,
  placeholder: string,
  parse: (value: string) => T,
): OptionOf<T, D> {
  const fallback = described?.default === undefined ? undefined : String(described.default)
  return {
    description,
    placeholder: described?.placeholder ?? placeholder,
    fallback,
    isRequired: false,
    isRepeated: false,
    read(given: readonly string[]) {
      const value = given.at(-1) ?? fallback
      return value === undefined ? undefined : parse(value)
    },
  } as OptionOf<T, D>
}

function parseNumber(value: string, { min = 0, max }: Bounds = {}, kind: 'number' | 'integer'): number {
  const parsed = Number(value)
  const isNumber = value.trim() !== '' && (kind === 'integer' ? Number.isSafeInteger(parsed) : Number.isFinite(parsed))
  if (!isNumber || parsed < min || (max !== undefined && parsed > max)) {
    const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`
    throw new UsageError(`must be ${kind === 'integer' ? 'an integer' : 'a number'} ${range}`)
  }
  return parsed
}

function parseChoice<T extends string>(value: string, of: readonly T[]): T {
  const found = of.find((one) => one === value)
  if (found === undefined) throw new UsageError(`must be ${of.length === 1 ? of[0] : `one of ${of.join(', ')}`}`)
  return found
}
