/**
 * A parsed statement. The parser implements just enough of ClickHouse's grammar to find the format of a statement and
 * the start of an INSERT's data, and to detect a second statement. The engine parses everything else.
 */
export type Statement =
  /** An INSERT with data in a format: `head [settings] FORMAT format`, followed by the data at `dataStart`. */
  | { readonly kind: 'insert-data'; readonly head: string; readonly settings: string; readonly format: string; readonly dataStart: number }
  /**
   * Any other statement, including INSERT ... SELECT and INSERT ... VALUES (...). `format` is the name in its FORMAT
   * clause.
   */
  | { readonly kind: 'query'; readonly format: string | undefined }
  | { readonly kind: 'empty' }

interface Token {
  readonly kind: 'word' | 'symbol' | 'quoted'
  /** Words are in upper case. */
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Thrown for a second statement, because ClickHouse's HTTP interface accepts one statement per request. */
export class MultiStatementError extends Error {
  override readonly name = 'MultiStatementError'
}

/**
 * Parses the statement and ignores any data after an INSERT's FORMAT.
 * @throws MultiStatementError
 */
export function readStatement(sql: string): Statement {
  const tokens: Token[] = []
  let depth = 0
  let isInsert = false
  let settingsStart: number | undefined
  for (let token = nextToken(sql, 0); token; token = nextToken(sql, token.end)) {
    if (tokens.length === 0) isInsert = token.text === 'INSERT'
    if (token.text === '(') depth++
    else if (token.text === ')') depth--
    else if (token.text === ';') {
      const rest = nextToken(sql, token.end)
      if (rest && rest.text !== ';') throw new MultiStatementError(`a second statement begins at position ${rest.start + 1}`)
      continue
    } else if (isInsert && depth === 0 && token.kind === 'word') {
      if (token.text === 'SELECT' || token.text === 'WITH') isInsert = false
      else if (token.text === 'SETTINGS') settingsStart = token.start
      else if (token.text === 'FORMAT' || token.text === 'VALUES') {
        const statement = insertData(sql, token, settingsStart)
        if (statement) return statement
        isInsert = false
      } else if (token.text === 'INFILE') isInsert = false
    }
    tokens.push(token)
  }
  if (tokens.length === 0) return { kind: 'empty' }
  const format = tokens.findLastIndex(({ kind, text }, index) => kind === 'word' && text === 'FORMAT' && tokens[index + 1]?.kind === 'word')
  return { kind: 'query', format: format < 0 ? undefined : sql.slice(tokens[format + 1].start, tokens[format + 1].end) }
}

/**
 * Returns the statement with the position of its data. Returns undefined for VALUES with rows in the statement, because
 * the engine parses such rows, and for FORMAT without the name of a format.
 */
function insertData(sql: string, keyword: Token, settingsStart: number | undefined): Statement | undefined {
  const head = sql.slice(0, settingsStart ?? keyword.start)
  const settings = settingsStart === undefined ? '' : sql.slice(settingsStart, keyword.start)
  if (keyword.text === 'VALUES') {
    return nextToken(sql, keyword.end) ? undefined : { kind: 'insert-data', head, settings, format: 'Values', dataStart: sql.length }
  }
  const name = nextToken(sql, keyword.end)
  if (name?.kind !== 'word') return undefined
  const format = sql.slice(name.start, name.end)
  return { kind: 'insert-data', head, settings, format, dataStart: skipDataGap(sql, name.end) }
}

/** Skips blanks between the format's name and the data, then at most one line break. */
function skipDataGap(sql: string, from: number): number {
  let at = from
  while (sql[at] === ' ' || sql[at] === '\t' || sql[at] === '\r') at++
  if (sql[at] === '\n') at++
  return at
}

const BLANK_OR_COMMENT = /(?:\s+|--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?\*\/)*/y
const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy
const HEREDOC_TAG = /\$\w*\$/y
const QUOTES = '\'"`'

function nextToken(sql: string, from: number): Token | undefined {
  const start = match(BLANK_OR_COMMENT, sql, from)
  if (start >= sql.length) return undefined
  const quotedEnd = endOfQuoted(sql, start)
  if (quotedEnd > start) return { kind: 'quoted', text: '', start, end: quotedEnd }
  const wordEnd = match(WORD, sql, start)
  if (wordEnd > start) return { kind: 'word', text: sql.slice(start, wordEnd).toUpperCase(), start, end: wordEnd }
  return { kind: 'symbol', text: sql[start], start, end: start + 1 }
}

/**
 * Returns the end of the string, quoted name or heredoc at `start`, or `start` if there is none. An unterminated string
 * extends to the end of the text, and the engine rejects it.
 */
function endOfQuoted(sql: string, start: number): number {
  const quote = sql[start]
  if (QUOTES.includes(quote)) {
    for (let at = start + 1; at < sql.length; at++) {
      if (sql[at] === '\\') at++
      // A doubled quote is an escaped quote. Treating it as the end of one string and the start of another has the same
      // effect.
      else if (sql[at] === quote) return at + 1
    }
    return sql.length
  }
  const tagEnd = match(HEREDOC_TAG, sql, start)
  if (tagEnd === start) return start
  const close = sql.indexOf(sql.slice(start, tagEnd), tagEnd)
  return close < 0 ? sql.length : close + (tagEnd - start)
}

/** Returns the end of the match at `from`, or `from` if there is no match. */
function match(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : from
}

/** Returns the text as a ClickHouse string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`
}

/** Returns the name as a quoted ClickHouse identifier. */
export function identifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}
