import { html } from 'hono/html'
import type { Answer } from '../../kit/answer.ts'
import { type Html, renderedPage } from '../../kit/page/rendered.ts'
import { EXPLAIN, FILES, SIGN_IN } from './routes.ts'

/**
 * Renders a page with the header and the style sheet of the page that explains lists.
 * @param who the subject of the caller's token
 */
export function pageAnswer(status: number, title: string, who: string, main: Html): Promise<Answer> {
  const header = html`<p class="name"><a href="${EXPLAIN}">Recommendations explained</a></p>
<p class="soft">Signed in as ${who} · <a href="${SIGN_IN}">change</a></p>`
  return renderedPage({ status, title: `${title} – Millrace`, styleSheet: `${FILES}/style.css`, header, main })
}

/** The format is created once, because a page has thousands of numbers, and creating it takes longer than using it. */
const NUMBER_FORMAT = new Intl.NumberFormat('en', { maximumFractionDigits: 3 })

export function numberText(value: number): string {
  return NUMBER_FORMAT.format(value)
}

/** Returns a readable form of a name such as `because_you_watched`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}
