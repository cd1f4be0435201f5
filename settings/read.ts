import type { SettingsFragment, Surroundings, Values, Variables } from './fragment.ts'
import { surroundingsSettings } from './surroundings.ts'

/** Environment variables as the process received them. A variable with an empty value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Invalid settings. The message has one line per fault, with the name of the variable and what is wrong with it. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'

  /** @param lines `NAME: message` */
  constructor(lines: readonly string[]) {
    super(`invalid settings:\n${[...new Set(lines)].map((line) => `  ${line}`).join('\n')}`)
  }
}

export interface ReadOptions {
  /**
   * If false, each variable is checked, but the fragment's `rules` do not run. Use false for services that the process
   * does not run. Default true.
   */
  readonly withRules?: boolean
}

/**
 * The result of reading one fragment. `value` may be called only when all fragments have been read and are valid.
 * `peek` may be called at any time, and returns `undefined` if this fragment is invalid.
 */
export interface FragmentReading<Value> {
  peek(): Value | undefined
  value(): Value
}

export interface SettingsReader {
  readonly surroundings: Surroundings
  read<Value, V extends Variables>(fragment: SettingsFragment<Value, V>, options?: ReadOptions): FragmentReading<Value>
}

/**
 * Reads a configuration that is composed of fragments.
 * @param compose reads every fragment, and returns a function that assembles the values
 * @throws SettingsError that names every invalid variable of all fragments
 */
export function readSettings<Config>(env: Environment, compose: (reader: SettingsReader) => () => Config): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const wrong: string[] = []
  const surroundings = surroundingsSettings.value(valuesOf(surroundingsSettings.variables, given, wrong), { home: '', isProduction: false })

  function read<Value, V extends Variables>(fragment: SettingsFragment<Value, V>, { withRules = true }: ReadOptions = {}) {
    const own: string[] = []
    const values = valuesOf(fragment.variables, given, own)
    if (own.length === 0 && withRules) fragment.rules?.(values, (name, message) => own.push(`${name}: ${message}`), surroundings)
    wrong.push(...own)
    const value = () => fragment.value(values, surroundings)
    return { value, peek: () => (own.length === 0 ? value() : undefined) }
  }

  const config = compose({ surroundings, read })
  if (wrong.length > 0) throw new SettingsError(wrong)
  return config()
}

/** Parses each variable by itself. If a variable is invalid, adds a message to `wrong` and omits its value. */
function valuesOf<V extends Variables>(variables: V, given: Environment, wrong: string[]): Values<V> {
  const values: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(variables)) {
    const parsed = schema.safeParse(given[name])
    if (parsed.success) values[name] = parsed.data
    else wrong.push(...parsed.error.issues.map(({ message }) => `${name}: ${message}`))
  }
  return values as Values<V>
}
