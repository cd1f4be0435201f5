import { html } from 'hono/html'
import type { Answer } from '../../kit/answer.ts'
import { type Html, renderedPage } from '../../kit/page/rendered.ts'

export type { Html }

export const STYLES = '/shop/files'

/**
 * Returns an answer with an HTML page.
 * @param q the content of the search field
 */
export function pageAnswer(status: number, title: string, q: string, main: Html): Promise<Answer> {
  const header = html`<p class="name"><a href="/shop">Shop</a></p>
<form role="search" action="/shop">
<label for="q">Search products</label>
<input id="q" name="q" type="search" maxlength="200" value="${q}">
<button>Search</button>
</form>`
  return renderedPage({ status, title, styleSheet: `${STYLES}/style.css`, header, main })
}

/**
 * Formats of prices, keyed by currency. Each is created once, because creating one takes much longer than using it. A
 * shop has only one currency.
 */
const PRICE_FORMATS = new Map<string, Intl.NumberFormat>()

/** Returns a price in its currency, such as $19.99. */
export function priceText(amount: number, currency: string): string {
  const format = PRICE_FORMATS.get(currency) ?? new Intl.NumberFormat('en', { style: 'currency', currency })
  PRICE_FORMATS.set(currency, format)
  return format.format(amount)
}

export function ratingText(avg: number, count: number): string {
  return count === 0 ? 'no reviews' : `${avg} of 5 stars (${count} ${count === 1 ? 'review' : 'reviews'})`
}

/** Returns a readable label for a code such as `top_rated`. */
export function words(code: string): string {
  return code.replaceAll('_', ' ')
}
