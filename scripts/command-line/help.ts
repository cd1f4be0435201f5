import type { Option } from './option.ts'

/** Width at which text is wrapped, in columns. */
const WIDTH = 100
const INDENT = '  '
/** Maximum length of a name that has its description on the same line. */
const LONGEST_NAME = 26

/** The parts of a command's help text. */
export interface Described {
  /** How the command is called, without its arguments and options, such as `npm run demo --`. */
  readonly call: string
  /** Describes the command in whole sentences. */
  readonly description: string
  readonly options?: Options
  readonly positionals?: Options
  /** The environment variables that the command reads, with descriptions. */
  readonly environment?: Readonly<Record<string, string>>
  /** Example arguments, which are appended to `call`, with descriptions. */
  readonly examples?: readonly Row[]
}

export type Options = Readonly<Record<string, Option<unknown>>>
type Row = readonly [name: string, meaning: string]

/** Returns the output of `--help`. */
export function helpText({ call, description, options = {}, positionals = {}, environment = {}, examples = [] }: Described): string {
  const words = Object.entries(positionals).map(([name, { isRequired }]) => (isRequired ? name : `[${name}]`))
  const usage = [call, ...words, '[options]'].join(' ')
  const given = Object.entries(positionals).map(([name, option]): Row => [name, meaning(option)])
  const named = Object.entries(options).map(([name, option]): Row => [optionName(name, option), meaning(option)])
  const called = examples.map(([args, what]): Row => [`${call} ${args}`, what])
  const sections = [
    usage,
    wrapped(description, WIDTH).join('\n'),
    section('Arguments', given),
    section('Options', [...named, ['--help', 'Prints this text.']]),
    section('Environment', Object.entries(environment)),
    section('Examples', called),
  ]
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`
}

function optionName(name: string, { placeholder }: Option<unknown>): string {
  return placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`
}

function meaning({ description, fallback, isRequired }: Option<unknown>): string {
  if (isRequired) return `${description} Required.`
  return fallback === undefined || fallback === '' ? description : `${description} Default: ${fallback}.`
}

function section(title: string, rows: readonly Row[]): string {
  if (rows.length === 0) return ''
  const width = Math.min(LONGEST_NAME, Math.max(...rows.map(([name]) => name.length)))
  const hanging = INDENT + ' '.repeat(width + INDENT.length)
  const lines = rows.flatMap(([name, text]) => {
    const [first, ...rest] = wrapped(text, WIDTH - hanging.length)
    const hung = rest.map((line) => hanging + line)
    if (name.length > width) return [INDENT + name, hanging + first, ...hung]
    return [`${INDENT}${name.padEnd(width)}${INDENT}${first}`, ...hung]
  })
  return [`${title}:`, ...lines].join('\n')
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`
      if (longer.length <= width || line === '') line = longer
      else {
        lines.push(line)
        line = word
      }
    }
    lines.push(line)
  }
  return lines
}
