/** A line of a comment, of a string in code, of prose or of a table. */
export interface Text {
  /** Number of the line, counted from 1. */
  readonly line: number
  readonly kind: 'comment' | 'string' | 'prose' | 'table'
  readonly text: string
  /** Width of the whole line in columns; undefined for strings, and for comments on the same line as code. */
  readonly columns: number | undefined
}

/** Matches text after which a slash begins a regular expression and not a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+>]|\breturn|\bcase)\s*$/
const QUOTES = new Set(["'", '"', '`'])

/** Finds the comments and strings of TypeScript or JavaScript. A string counts only if it contains a space. */
export function textsOfCode(source: string): Text[] {
  const texts: Text[] = []
  const lines = source.split('\n')
  let at = 0
  let line = 0
  let lineStart = 0

  function add(kind: 'comment' | 'string', from: number, to: number): void {
    for (const text of source.slice(from, to).split('\n')) {
      const ownLine = kind === 'comment' && /^\s*(?:\/[/*]|\*)/.test(lines[line])
      texts.push({ line: line + 1, kind, text, columns: ownLine ? lines[line].length : undefined })
      const next = lineStart + lines[line].length + 1
      if (next > to) break
      line++
      lineStart = next
    }
  }

  /** @returns the index after the literal that `end` closes */
  function behindLiteral(end: string): number {
    let index = at + 1
    let inClass = false
    while (index < source.length) {
      const char = source[index]
      if (char === '\\') index++
      else if (char === '\n' && end !== '`') return index
      else if (end === '/' && char === '[') inClass = true
      else if (end === '/' && char === ']') inClass = false
      else if (char === end && !inClass) return index + 1
      index++
    }
    return index
  }

  while (at < source.length) {
    const char = source[at]
    const pair = source.slice(at, at + 2)
    let end = at + 1
    if (pair === '//') {
      end = lineStart + lines[line].length
      add('comment', at, end)
    } else if (pair === '/*') {
      const close = source.indexOf('*/', at + 2)
      end = close < 0 ? source.length : close + 2
      add('comment', at, end)
    } else if (QUOTES.has(char)) {
      end = behindLiteral(char)
      if (source.slice(at, end).includes(' ')) add('string', at, end)
    } else if (char === '/' && BEFORE_REGEX.test(source.slice(lineStart, at))) {
      end = behindLiteral('/')
    }
    for (; at < end; at++) {
      if (source[at] !== '\n' || at < lineStart + lines[line].length) continue
      line++
      lineStart = at + 1
    }
  }
  return texts
}

/**
 * Matches links to tests. The text of such a link is the title of a test. That text is checked in the test file itself.
 */
const LINK_TO_TEST = /\[[^\]]*\]\([^)]*\.test\.ts\)/g

/** Finds the prose and tables of Markdown, without code, comments and the targets of links. */
export function textsOfMarkdown(source: string): Text[] {
  const texts: Text[] = []
  let fenced = false
  for (const [index, raw] of source.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(raw)) {
      fenced = !fenced
      continue
    }
    if (fenced || raw.startsWith('    ') || raw.startsWith('<!--')) continue
    const shown = raw.replaceAll(LINK_TO_TEST, '').replaceAll(/\]\([^)]*\)/g, ']()')
    const text = shown.replaceAll(/`[^`]*`/g, '``')
    texts.push({ line: index + 1, kind: raw.startsWith('|') ? 'table' : 'prose', text, columns: shown.length })
  }
  return texts
}
