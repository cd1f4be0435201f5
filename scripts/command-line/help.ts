import type { Option } from './option.ts'

/** Maximum line width. Terminals have at least 80 columns, and most have more. */
const WIDTH = 100
const INDENT = '  '
/** The description of a longer name goes on the next line. */
const LONGEST_NAME = 26

interface Described {
  readonly call: string
  readonly description: string
  readonly options?: Readonly<Record<string, Option<unknown>>>
  readonly positionals?: Readonly<Record<string, Option<unknown>>>
  readonly environment?: Readonly<Record<string, string>>
  readonly examples?: readonly (readonly [args: string, meaning: string])[]
}

/** Returns the output of `--help`. */
export function helpText({ call, description, options = {}, positionals = {}, environment = {}, examples = [] }: Described): string {
  const words = Object.entries(positionals).map(([name, { isRequired }]) => (isRequired ? name : `[${name}]`))
  const usage = [call, ...words, '[options]'].join(' ')
  const named = Object.entries(options).map(([name, option]) => [optionName(name, option), meaning(option)] as const)
  const sections = [
    usage,
    wrapped(description, WIDTH).join('\n'),
    section(
      'Arguments',
      Object.entries(positionals).map(([name, option]) => [name, meaning(option)] as const),
    ),
    section('Options', [...named, ['--help', 'Prints this text.']]),
    section('Environment', Object.entries(environment)),
    section(
      'Examples',
      examples.map(([args, what]) => [`${call} ${args}`, what] as const),
    ),
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

function section(title: string, rows: readonly (readonly [name: string, meaning: string])[]): string {
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
