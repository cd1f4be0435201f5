import { html } from 'hono/html'
import type { Answer } from '../../kit/answer.ts'
import { PRIVATE } from '../../kit/headers.ts'

/** Escaped HTML. All texts in templates are escaped. */
export type Html = ReturnType<typeof html>

export const STYLES = '/shop/files'

/** The pages have no scripts. Their style sheets and images come from this server alone. */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Answers with a page. @param q what stands in the search field */
export async function pageAnswer(status: number, title: string, q: string, main: Html): Promise<Answer> {
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/kit/page/browser/base.css">
<link rel="stylesheet" href="${STYLES}/style.css">
</head>
<body>
<header>
<p class="name"><a href="/shop">Shop</a></p>
<form role="search" action="/shop">
<label for="q">Search products</label>
<input id="q" name="q" type="search" maxlength="200" value="${q}">
<button>Search</button>
</form>
</header>
<main>${main}</main>
</body>
</html>`
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': PAGE_POLICY, ...PRIVATE }
  return { status, headers, body: String(page) }
}

/** Returns a price in its currency, such as $19.99. */
export function priceText(amount: number, currency: string): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount)
}

export function ratingText(avg: number, count: number): string {
  return count === 0 ? 'no reviews' : `${avg} of 5 stars (${count} ${count === 1 ? 'review' : 'reviews'})`
}

/** Returns a word for people in place of a code such as `top_rated`. */
export function words(code: string): string {
  return code.replaceAll('_', ' ')
}
