import { parseArgs } from 'node:util'
import { type Described, helpText, type Options } from './help.ts'
import { nearestName } from './nearest.mjs'
import { type Option, UsageError } from './option.ts'

type Values<O> = { readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never }
/** The parsed values of a command's options and arguments, keyed by their declared names. */
export type ValuesOf<C> = C extends Command<infer V> ? V : never

/**
 * Declares the options and arguments of a command. Declarations import no packages and have no side effects, so that
 * help works before anything is installed.
 */
export interface Declaration<O extends Options, P extends Options> extends Described {
  readonly options?: O
  /** Positional arguments in order. Only the last one may be repeated. */
  readonly positionals?: P
  /**
   * Checks rules that the declarations of the options cannot express. Returns a message if a rule is violated;
   * undefined otherwise.
   */
  readonly check?: (values: Values<O & P>) => string | undefined
}

export interface Command<V> {
  readonly call: string
  readonly help: string
  /**
   * Parses the arguments.
   * @returns the values, or `help` when the user requests it
   * @throws UsageError when the arguments are invalid
   */
  parse(args: readonly string[]): V | 'help'
}

/** One occurrence of an option, as `parseArgs` found it. */
interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string
  readonly inlineValue?: boolean
}

const NOTHING = {}

/**
 * Declares a command.
 * @example
 * export default command({
 *   call: 'npm run demo --',
 *   description: 'Plays a live stream.',
 *   options: { rate: number('Events per second.', { default: 40, min: 0.01 }) },
 * })
 */
export function command<O extends Options = typeof NOTHING, P extends Options = typeof NOTHING>(
  declaration: Declaration<O, P>,
): Command<Values<O & P>> {
  const { call, options = NOTHING as O, positionals = NOTHING as P, check } = declaration

  function fail(message: string): never {
    throw new UsageError(`${message}${message.endsWith('?') ? ' See' : '; see'} ${call} --help`)
  }

  function parse(args: readonly string[]): Values<O & P> | 'help' {
    const given = collect(args)
    if (given === 'help') return 'help'
    const values: Record<string, unknown> = {}
    for (const [name, option] of Object.entries(options)) values[name] = read(`--${name}`, option, given.options.get(name) ?? [])
    for (const [name, option] of Object.entries(positionals)) values[name] = read(name, option, given.positionals.get(name) ?? [])
    const complaint = check?.(values as Values<O & P>)
    if (complaint !== undefined) fail(complaint)
    return values as Values<O & P>
  }

  function collect(args: readonly string[]) {
    const { tokens } = parseArgs({
      args: [...args],
      strict: false,
      tokens: true,
      options: {
        ...Object.fromEntries(
          Object.entries(options).map(([name, { placeholder }]) => [name, { type: placeholder ? 'string' : 'boolean' }]),
        ),
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (tokens.some((token) => token.kind === 'option' && token.name === 'help')) return 'help'
    const found = new Map<string, string[]>()
    const words: string[] = []
    for (const token of tokens) {
      if (token.kind === 'positional') words.push(token.value)
      if (token.kind === 'option') found.set(token.name, [...(found.get(token.name) ?? []), optionValue(token)])
    }
    return { options: found, positionals: assign(words) }
  }

  function optionValue({ name, rawName, value, inlineValue }: OptionToken): string {
    if (!Object.hasOwn(options, name)) {
      const nearest = nearestName(name, [...Object.keys(options), 'help'])
      fail(`unknown option ${rawName}${nearest === undefined ? '' : `, did you mean --${nearest}?`}`)
    }
    const option = options[name]
    if (option.placeholder === undefined) {
      if (value !== undefined) fail(`--${name} takes no value`)
      return ''
    }
    // Without an equals sign, a word that begins with two dashes is more likely the next option than this option's
    // value.
    const isOption = value?.startsWith('--') === true && inlineValue !== true
    if (value === undefined || isOption) fail(`--${name} needs a value: --${name} ${option.placeholder}`)
    return value
  }

  function assign(words: readonly string[]): Map<string, string[]> {
    const found = new Map<string, string[]>()
    const names = Object.keys(positionals)
    for (const [index, word] of words.entries()) {
      const name = names[index] ?? (positionals[names.at(-1) ?? '']?.isRepeated ? names.at(-1) : undefined)
      if (name === undefined) fail(`unexpected argument ${JSON.stringify(word)}`)
      found.set(name, [...(found.get(name) ?? []), word])
    }
    return found
  }

  function read(label: string, option: Option<unknown>, given: readonly string[]): unknown {
    if (option.isRequired && given.length === 0) fail(`${label} is missing: ${option.description.replace(/\.$/, '')}`)
    try {
      return option.read(given)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      const value = given.at(-1)
      fail(`${label} ${error.message}${value === '' ? '' : `, not ${JSON.stringify(value)}`}`)
    }
  }

  return { call, help: helpText(declaration), parse }
}
