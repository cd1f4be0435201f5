/** A code block of a page: a whole file, or lines to add to a list. */
export type Step =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | { readonly kind: 'lines'; readonly path: string; readonly added: readonly string[] }

const BLOCK = /^```(\w+) (\S+)\n(.*?)^```$/gms

/** Returns the code blocks whose info string names a file after the language, in the order of the page. */
export function stepsOf(page: string): Step[] {
  return [...page.matchAll(BLOCK)].map(([, language, path, text]) => {
    if (language !== 'diff') return { kind: 'file', path, text }
    const lines = text.trimEnd().split('\n')
    const strange = lines.find((line) => !line.startsWith('+'))
    if (strange !== undefined) throw new Error(`${path}: each line of a diff block must begin with "+", but one is "${strange}"`)
    return { kind: 'lines', path, added: lines.map((line) => line.slice(1)) }
  })
}

/** Adds lines to a list: imports at its top, and entries at its end. */
export function withLines(list: string, added: readonly string[]): string {
  const imports = added.filter((line) => line.startsWith('import '))
  const entries = added.filter((line) => !line.startsWith('import '))
  const end = list.lastIndexOf('\n]')
  if (end < 0) throw new Error('the list has no line that begins with "]"')
  return [...imports, `${list.slice(0, end)}\n${entries.join('\n')}${list.slice(end)}`].join('\n')
}
