import { html } from 'hono/html'
import { type Region, WORLDWIDE } from '../../../schemas/trends/places/regions.ts'
import type { Answer } from '../../kit/answer.ts'
import { type Html, renderedPage } from '../../kit/page/rendered.ts'

export const STYLES = '/trends/files'

/**
 * Answers with an HTML page.
 * @param q the content of the search field
 */
export function pageAnswer(status: number, title: string, q: string, main: Html): Promise<Answer> {
  const header = html`<p class="name"><a href="/trends">Trends</a></p>
<form role="search" action="/trends">
<label for="q">Find a place</label>
<input id="q" name="q" type="search" maxlength="100" value="${q}">
<button>Find</button>
</form>`
  return renderedPage({ status, title, styleSheet: `${STYLES}/style.css`, header, main })
}

export function listAddress({ woeid }: Pick<Region, 'woeid'>, safe = false): string {
  return `/trends?woeid=${woeid}${safe ? '&safe=true' : ''}`
}

/** Returns words such as `in Paris`. */
export function placeText({ woeid, name }: Region): string {
  return woeid === WORLDWIDE ? 'worldwide' : `in ${name}`
}

export function listTitle(region: Region): string {
  return `Trends ${placeText(region)}`
}

/** Returns a readable time in UTC, such as 15 Jan 2026, 12:00 UTC. */
export function timeText(iso: string): Html {
  const text = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(iso))
  return html`<time datetime="${iso}">${text} UTC</time>`
}

export function countText(count: number): string {
  return new Intl.NumberFormat('en').format(count)
}
