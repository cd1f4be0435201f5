import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'

const QUOTE = '"'

/**
 * Reads a CSV file (RFC 4180; gzipped if its name ends with .gz) row by row. Each row is an object whose keys are the
 * names in the header.
 * @throws Error that names the file, if the file cannot be read or decompressed
 */
export async function* readCsv(path: string): AsyncGenerator<Record<string, string>> {
  const bytes = createReadStream(path)
  const text = path.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes
  bytes.on('error', (error) => text.destroy(error))
  let header: string[] | undefined
  for await (const fields of rowsOf(named(text, path))) {
    if (header === undefined) header = fields
    else yield Object.fromEntries(header.map((name, i) => [name, fields[i] ?? '']))
  }
}

/** Adds the path to an error. The errors of zlib, and those of reading a folder, do not name the file. */
async function* named(chunks: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
  try {
    yield* chunks
  } catch (error) {
    throw new Error(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
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
