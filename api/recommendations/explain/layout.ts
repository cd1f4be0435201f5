import { html } from 'hono/html'
import type { Answer } from '../../kit/answer.ts'
import { type Html, renderedPage } from '../../kit/page/rendered.ts'
import { EXPLAIN, FILES } from './routes.ts'

export interface Page {
  readonly status: number
  readonly title: string
  /** Subject of the caller's token. */
  readonly who: string
  /** Address of the sign-in page, which opens this page again after the sign-in. */
  readonly signIn: string
  readonly main: Html
}

/** Renders a page with the header and the style sheet of the page that explains lists. */
export function pageAnswer({ status, title, who, signIn, main }: Page): Promise<Answer> {
  const header = html`<p class="name"><a href="${EXPLAIN}">Recommendations explained</a></p>
<p class="soft">Signed in as ${who} · <a href="${signIn}">change</a></p>`
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
