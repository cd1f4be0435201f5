import { html } from 'hono/html'
import type { detailAnswer } from '../detail/answer.ts'
import { type Html, ratingText, words } from './layout.ts'
import { priceOf } from './search-page.ts'

export type Detail = ReturnType<typeof detailAnswer>

export interface RelatedProduct {
  readonly product_id: number
  readonly title: string
}

/** Names of the fields of a variant that are not attributes. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['variant_id', 'sku', 'price', 'was', 'weight_grams', 'inventory', 'images'])
const STARS = [5, 4, 3, 2, 1]
/** Width of the page's large image, in pixels. */
const LARGE = 600

export function productPage(detail: Detail, related: readonly RelatedProduct[], localImage: (url: string) => string): Html {
  const { title, brand, description, category_path, variants, images, seller, badges, currency, category_id } = detail
  return html`<p class="soft"><a href="/shop?category=${category_id}">${category_path.join(' › ')}</a></p>
<h1>${title}</h1>
<p class="soft">${brand === null ? '' : html`by ${brand}, `}sold by ${seller.name}${seller.rating === null ? '' : `, rated ${seller.rating} of 5`}</p>
<p>${badges.map((badge) => html`<span class="badge">${words(badge)}</span> `)}</p>
${images.length === 0 ? '' : html`<div class="images">${images.map((image) => picture(image, localImage))}</div>`}
<section aria-labelledby="variants"><h2 id="variants">Variants</h2>
<table><thead><tr><th>Variant</th><th>Price</th><th>Stock</th></tr></thead>
<tbody>${variants.map((variant) => row(variant, currency))}</tbody></table></section>
${description === '' ? '' : html`<section><h2>Description</h2>${description.split('\n').map((line) => html`<p>${line}</p>`)}</section>`}
${reviews(detail)}
${related.length === 0 ? '' : html`<section><h2>Related products</h2><ul>${related.map(link)}</ul></section>`}`
}

function link({ product_id, title }: RelatedProduct): Html {
  return html`<li><a href="/shop/products/${product_id}">${title}</a></li>`
}

function picture({ alt_text, urls }: Detail['images'][number], localImage: (url: string) => string): Html {
  const sources = Object.entries(urls).map(([pixels, url]) => `${localImage(url)} ${pixels}w`)
  return html`<img src="${localImage(urls[LARGE])}" srcset="${sources.join(', ')}" sizes="(max-width: 40rem) 100vw, 20rem" alt="${alt_text ?? ''}">`
}

function row(variant: Detail['variants'][number], currency: string): Html {
  const attributes = Object.entries(variant).filter(([name]) => !OWN_FIELDS.has(name))
  const name = attributes.map(([attribute, value]) => `${attribute}: ${String(value)}`).join(', ')
  const { status, quantity_hint } = variant.inventory
  const stock = status === 'out_of_stock' ? 'out of stock' : status === 'low_stock' ? quantity_hint : 'in stock'
  return html`<tr><td>${name === '' ? variant.sku : name}</td><td>${priceOf(variant.price, variant.was, currency)}</td><td>${stock}</td></tr>`
}

function reviews({ reviews_summary: { avg, count, distribution } }: Detail): Html {
  const bar = (star: number) => html`<dt>${star} ${star === 1 ? 'star' : 'stars'}</dt><dd>${distribution[star]}</dd>`
  return html`<section><h2>Reviews</h2><p>${count === 0 ? 'There are no reviews yet.' : ratingText(avg, count)}</p>${count === 0 ? '' : html`<dl>${STARS.map(bar)}</dl>`}</section>`
}
