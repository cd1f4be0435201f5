import { html } from 'hono/html'
import { type Region, WORLDWIDE } from '../../../schemas/trends/places/regions.ts'
import type { Answer } from '../../kit/answer.ts'
import { type Html, renderedPage } from '../../kit/page/rendered.ts'

export const STYLES = '/trends/files'

/** The values in the search form of a page. */
export interface SearchForm {
  /** The content of the search field. */
  readonly q?: string
  /** Whether the lists to which the form leads leave out vulgar terms. */
  readonly safe?: boolean
}

/** Renders a page with the search form that all pages of trends have. */
export function pageAnswer(status: number, title: string, { q = '', safe = false }: SearchForm, main: Html): Promise<Answer> {
  const header = html`<p class="name"><a href="${startAddress(safe)}">Trends</a></p>
<form role="search" action="/trends">
<label for="q">Find a place</label>
<input id="q" name="q" type="search" maxlength="100" value="${q}">
${safe ? html`<input type="hidden" name="safe" value="true">` : ''}<button>Find</button>
</form>`
  return renderedPage({ status, title, styleSheet: `${STYLES}/style.css`, header, main })
}

/** Returns the address of the worldwide list. */
export function startAddress(safe: boolean): string {
  return `/trends${safe ? '?safe=true' : ''}`
}

export function listAddress({ woeid }: Pick<Region, 'woeid'>, safe = false): string {
  return `/trends?woeid=${woeid}${safe ? '&safe=true' : ''}`
}

export function termAddress(term: string, { woeid }: Region, safe: boolean): string {
  return `/trends/terms/${termPart(term)}?woeid=${woeid}${safe ? '&safe=true' : ''}`
}

/**
 * Encodes a term as a path segment. Browsers resolve the segments `.` and `..`, even if they are encoded. These two
 * terms therefore get a leading #, which does not change the term.
 */
function termPart(term: string): string {
  return encodeURIComponent(term === '.' || term === '..' ? `#${term}` : term)
}

/** Codes of the countries whose English names have an article in a sentence. */
const WITH_ARTICLE: ReadonlySet<string> = new Set(['AE', 'DO', 'GB', 'NL', 'PH', 'US'])

/** Returns `worldwide`, or words such as `in Paris` and `in the United States`. */
export function placeText({ woeid, name, type, country_code }: Region): string {
  if (woeid === WORLDWIDE) return 'worldwide'
  return type === 'Country' && WITH_ARTICLE.has(country_code) ? `in the ${name}` : `in ${name}`
}

export function listTitle(region: Region): string {
  return `Trends ${placeText(region)}`
}

/** The formats are created once, because creating one takes much longer than using it. */
const TIME_FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const COUNT_FORMAT = new Intl.NumberFormat('en')
const RATIO_FORMAT = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** Returns a readable time in UTC, such as 15 Jan 2026, 12:00 UTC. */
export function timeText(iso: string): Html {
  return html`<time datetime="${iso}">${TIME_FORMAT.format(new Date(iso))} UTC</time>`
}

export function countText(count: number): string {
  return COUNT_FORMAT.format(count)
}

/** Returns a number with one decimal. */
export function ratioText(ratio: number): string {
  return RATIO_FORMAT.format(ratio)
}

/**
 * Isolates text whose writing direction is unknown. Without the element, the direction of the page would apply to signs
 * such as #, so an Arabic hashtag would be shown with its # at the wrong end.
 */
export function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`
}
