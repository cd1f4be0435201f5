import { syntaxFault } from './syntax-fault.ts'

/** Words that are never names, whatever their case. */
export const KEYWORDS = ['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'IS', 'MISSING', 'TRUE', 'FALSE'] as const
export type Keyword = (typeof KEYWORDS)[number]

/** A token with its UTF-16 offsets. `text` of a keyword is in upper case. */
export type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'name' | 'symbol'; readonly text: string }
  | { readonly kind: 'keyword'; readonly text: Keyword }
  | { readonly kind: 'end' }
)

const SPACE = /[ \t\r\n]*/y
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const NAME = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/y
const SYMBOL = /==|!=|<>|<=|>=|[-+*/%=<>(),]/y
/** The characters of a string that need no special handling. */
const PLAIN_TEXT = /[^'"\\\p{Cc}]*/uy
const CODE_UNIT = /[0-9a-fA-F]{4}/y
const NAME_CHARACTER = /[\w.]/

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

const HINTS: ReadonlyMap<string, string> = new Map([
  ['&', 'write AND'],
  ['|', 'write OR'],
  ['!', 'write NOT, or != for "not equal"'],
  ['~', 'use contains, startsWith or endsWith instead of a regular expression'],
  ['.', 'a number begins with a digit, and a name with a letter or underscore'],
  ['{', 'write ( and )'],
  ['[', 'write ( and )'],
  [';', 'a rule has one condition'],
  ['‘', 'quote strings with \' or "'],
  ['’', 'quote strings with \' or "'],
  ['“', 'quote strings with \' or "'],
  ['”', 'quote strings with \' or "'],
  ['`', 'quote strings with \' or "'],
])

/** Splits a condition into tokens; the last one is `end`. Throws at the first fault. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = skipSpace(text, 0)
  while (at < text.length) {
    const token = tokenAt(text, at)
    tokens.push(token)
    at = skipSpace(text, token.end)
  }
  tokens.push({ kind: 'end', start: text.length, end: text.length })
  return tokens
}

function skipSpace(text: string, at: number): number {
  return at + matchAt(SPACE, text, at)!.length
}

/** Matches a sticky pattern at an offset. */
function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function tokenAt(text: string, start: number): Token {
  const first = text[start]
  if (first === "'" || first === '"') return stringAt(text, start, first)
  const digits = matchAt(NUMBER, text, start)
  if (digits !== undefined) return numberAt(text, start, digits)
  const name = matchAt(NAME, text, start)
  if (name !== undefined) return wordOf(name, start)
  const symbol = matchAt(SYMBOL, text, start)
  if (symbol !== undefined) return { kind: 'symbol', text: symbol, start, end: start + symbol.length }
  throw badCharacter(text, start)
}

function wordOf(name: string, start: number): Token {
  const end = start + name.length
  const keyword = KEYWORDS.find((each) => each === name.toUpperCase())
  return keyword === undefined ? { kind: 'name', text: name, start, end } : { kind: 'keyword', text: keyword, start, end }
}

function numberAt(text: string, start: number, digits: string): Token {
  let end = start + digits.length
  if (end < text.length && NAME_CHARACTER.test(text[end])) {
    while (end < text.length && NAME_CHARACTER.test(text[end])) end++
    throw numberFault(start, end, `"${shown(text.slice(start, end))}" is not a number.`)
  }
  const value = Number(digits)
  if (!Number.isFinite(value)) throw numberFault(start, end, 'The number is too large.')
  return { kind: 'number', value, start, end }
}

function numberFault(start: number, end: number, message: string): Error {
  return syntaxFault({ code: 'bad_number', message, start, end, expected: ['a number such as 12, 0.5 or 1e6'] })
}

function stringAt(text: string, start: number, quote: string): Token {
  let value = ''
  let at = start + 1
  while (at < text.length) {
    const plain = matchAt(PLAIN_TEXT, text, at)!
    value += plain
    at += plain.length
    const next = text[at]
    if (next === quote) {
      if (!value.isWellFormed()) throw stringFault(start, at + 1, 'The string has half of a surrogate pair.', ['whole characters'])
      return { kind: 'string', value, start, end: at + 1 }
    }
    if (next === undefined) break
    if (next === '\\') {
      const escaped = escapeAt(text, at)
      value += escaped.value
      at += escaped.length
    } else if (next === "'" || next === '"') {
      value += next
      at++
    } else {
      throw stringFault(at, at + 1, 'The string has a line break or control character.', ['an escape such as \\n or \\u0007'])
    }
  }
  throw stringFault(start, text.length, 'The closing quote of the string is missing.', [quote])
}

function escapeAt(text: string, at: number): { value: string; length: number } {
  const letter = text[at + 1]
  const simple = letter === undefined ? undefined : ESCAPES.get(letter)
  if (simple !== undefined) return { value: simple, length: 2 }
  const codeUnit = letter === 'u' ? matchAt(CODE_UNIT, text, at + 2) : undefined
  if (codeUnit !== undefined) return { value: String.fromCharCode(Number.parseInt(codeUnit, 16)), length: 2 + codeUnit.length }
  throw stringFault(at, Math.min(at + 2, text.length), 'The escape is unknown.', [
    '\\\\',
    "\\'",
    '\\"',
    '\\n',
    '\\r',
    '\\t',
    '\\u and 4 hexadecimal digits',
  ])
}

function stringFault(start: number, end: number, message: string, expected: readonly string[]): Error {
  return syntaxFault({ code: 'bad_string', message, start, end, expected })
}

function badCharacter(text: string, start: number): Error {
  const character = String.fromCodePoint(text.codePointAt(start)!)
  const hint = HINTS.get(character)
  return syntaxFault({
    code: 'bad_character',
    message: `The character ${shown(JSON.stringify(character))} means nothing here${hint === undefined ? '' : `: ${hint}`}.`,
    start,
    end: start + character.length,
    expected: ['a field, a number, a string or an operator'],
  })
}

const MAX_SHOWN_CHARACTERS = 60

/** Shortens a part of a condition for use in a message. */
export function shown(part: string): string {
  return part.length > MAX_SHOWN_CHARACTERS ? `${part.slice(0, MAX_SHOWN_CHARACTERS).toWellFormed()}…` : part
}

/** Names a token for a message. */
export function tokenName(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'the end of the condition'
    case 'number':
      return `the number ${token.value}`
    case 'string':
      return `the string ${shown(JSON.stringify(token.value))}`
    default:
      return `"${shown(token.text)}"`
  }
}
