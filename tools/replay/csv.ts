import { fileBytes } from '../file-bytes.ts'

const QUOTE = '"'

/**
 * Reads a CSV file (RFC 4180; gzipped if its name ends with .gz) row by row. Each row is an object whose keys are the
 * names in the header.
 * @throws Error that names the file, if the file cannot be read or decompressed
 */
export async function* readCsv(path: string): AsyncGenerator<Record<string, string>> {
  let header: string[] | undefined
  for await (const fields of rowsOf(fileBytes(path))) {
    if (header === undefined) header = fields
    else yield Object.fromEntries(header.map((name, i) => [name, fields[i] ?? '']))
  }
}

async function* rowsOf(input: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    const { rows, unfinished } = takeRows(rest + decoder.decode(chunk, { stream: true }))
    yield* rows
    rest = unfinished
  }
  if (rest.trim() !== '') yield fieldsOf(rest.replace(/\r?\n$/, ''))
}

/** Splits the text at line ends outside of quotes. */
function takeRows(text: string): { rows: string[][]; unfinished: string } {
  const rows: string[][] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === QUOTE) quoted = !quoted
    else if (char === '\n' && !quoted) {
      const line = text.slice(start, text[i - 1] === '\r' ? i - 1 : i)
      if (line !== '') rows.push(fieldsOf(line))
      start = i + 1
    }
  }
  return { rows, unfinished: text.slice(start) }
}

function fieldsOf(line: string): string[] {
  const fields: string[] = []
  let field = ''
  let quoted = false
  for (let i = 0; i < line.length; i++) {
    const char = line[i]
    if (quoted && char === QUOTE && line[i + 1] === QUOTE) {
      field += QUOTE
      i++
    } else if (char === QUOTE) quoted = !quoted
    else if (char === ',' && !quoted) {
      fields.push(field)
      field = ''
    } else field += char
  }
  fields.push(field)
  return fields
}
