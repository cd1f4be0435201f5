/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}

const CLOSE = '</span>'

/**
 * Splits highlighted HTML into lines. Spans that are open at the end of a line are closed there and reopened on the
 * next.
 * @param html contains only text, `<span …>` and `</span>`, as the highlighter returns it
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
