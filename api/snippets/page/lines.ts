/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}

const CLOSE = '</span>'

/**
 * Splits highlighted HTML into lines. A span that is open at the end of a line is closed there and reopened on the next
 * line.
 * @param html HTML of the highlighter, which contains only text, `<span …>` and `</span>`
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
