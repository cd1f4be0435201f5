/** Text as HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}

const CLOSE = '</span>'

/**
 * Highlighted HTML line by line: what is open at the end of a line is closed there and opened again on the next one.
 * @param html nothing but text, `<span …>` and `</span>`, as the highlighter makes it
 */
export function linesOf(html: string): string[] {
  const open: string[] = []
  return html.split('\n').map((line) => {
    const start = open.join('')
    for (const [tag] of line.matchAll(/<[^>]*>/g)) {
      if (tag === CLOSE) open.pop()
      else open.push(tag)
    }
    return `${start}${line}${CLOSE.repeat(open.length)}`
  })
}
