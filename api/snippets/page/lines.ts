export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}

const CLOSE = '</span>'
/**
 * Maximum number of separate lines. The markup of a line has about a hundred characters, so without this limit, a text
 * that consists only of line breaks would give a page of 60 MB.
 */
const MAX_LINES = 20_000
/**
 * Maximum total length of the tags that are repeated on later lines. Every open tag is repeated on every line, so
 * without this limit, a text with deeply nested spans and many line breaks would need gigabytes.
 */
const MAX_REPEATED_CHARACTERS = 1_048_576

/** Highlighted HTML that is split into lines. */
interface SplitHtml {
  readonly lines: readonly string[]
  /** The HTML after the last separate line; empty if all lines are separate. */
  readonly rest: string
}

/**
 * Splits highlighted HTML into lines. A span that is open at the end of a line is closed there and reopened on the next
 * line. Stops before the lines or the repeated tags would make the page too large.
 * @param html HTML of the highlighter, which contains only text, `<span …>` and `</span>`
 */
export function linesOf(html: string): SplitHtml {
  const open: string[] = []
  const lines: string[] = []
  let openCharacters = 0
  let repeated = 0
  let from = 0
  while (from <= html.length) {
    repeated += openCharacters
    const isTooMuch = lines.length >= MAX_LINES || repeated > MAX_REPEATED_CHARACTERS
    if (isTooMuch && from < html.length) return { lines, rest: open.join('') + html.slice(from) }
    const start = open.join('')
    const end = html.indexOf('\n', from)
    const line = html.slice(from, end < 0 ? undefined : end)
    for (const [tag] of line.matchAll(/<[^>]*>/g)) {
      if (tag !== CLOSE) open.push(tag)
      openCharacters += tag === CLOSE ? -(open.pop()?.length ?? 0) : tag.length
    }
    lines.push(`${start}${line}${CLOSE.repeat(open.length)}`)
    from = end < 0 ? html.length + 1 : end + 1
  }
  return { lines, rest: '' }
}
