import { html } from 'hono/html'
import { MOST_PAGED } from '../../../state/indexes/catalog/products.ts'
import type { SearchAnswerBody } from '../search/results/answer.ts'
import { addressOf, type Choice, toggled } from './choice.ts'
import { type Html, priceText, ratingText, words } from './layout.ts'

const SORTS: readonly (readonly [string, string])[] = [
  ['relevance', 'Best match'],
  ['price_asc', 'Lowest price'],
  ['price_desc', 'Highest price'],
  ['rating', 'Best rating'],
  ['newest', 'Newest'],
]
const NO_FILTERS = { category: '', price_min: '', price_max: '', rating_min: '', brands: [], attributes: [] } as const
const SHOWN_BRANDS = 12
const SHOWN_VALUES = 8
/** A filter ends one cent below the upper end of its price range, because that end belongs to the next range. */
const CENT = 0.01
const CENT_DIGITS = 2

/**
 * Renders the results of a search.
 * @param localImage converts the address of an image to its path on this server
 */
export function searchPage(choice: Choice, answer: SearchAnswerBody, currency: string, localImage: (url: string) => string): Html {
  const { results, total, page } = answer
  return html`<h1>${choice.q === '' ? 'All products' : html`Results for “${choice.q}”`}</h1>
${hints(choice, answer)}
<div class="search">
<aside aria-label="Filters">${filters(choice, answer, currency)}</aside>
<section aria-label="Results">
<div class="order"><p>${total === 1 ? '1 product' : `${total} products`}</p>${sortForm(choice)}</div>
${results.length === 0 ? html`<p class="note">${total === 0 || (page ?? 1) === 1 ? 'Nothing was found. Try fewer words or filters.' : 'There are no results on this page. Go back to an earlier page.'}</p>` : ''}
<ol class="results">${results.map((result) => card(result, localImage))}</ol>
${pages(choice, answer)}
</section>
</div>`
}

function hints({ q }: Choice, { did_you_mean, matched }: SearchAnswerBody): Html {
  if (did_you_mean !== null) return html`<p class="note">Also shows results for “${did_you_mean}”.</p>`
  if (q !== '' && (matched === 'most' || matched === 'half')) return html`<p class="note">Few or no products have all of these words.</p>`
  return html``
}

function card(result: SearchAnswerBody['results'][number], localImage: (url: string) => string): Html {
  const { product_id, title, brand, price, rating, thumbnail_url, badges, stock } = result
  const image =
    thumbnail_url === null ? html`<span class="no-image"></span>` : html`<img src="${localImage(thumbnail_url)}" alt="" loading="lazy">`
  return html`<li>
<a href="/shop/products/${product_id}">${image}<span class="title">${title}</span></a>
<p>${priceOf(price.amount, price.was, price.currency)}</p>
<p class="soft">${brand === null ? '' : `${brand}, `}${ratingText(rating.avg, rating.count)}</p>
<p class="soft">${stock === 'out_of_stock' ? 'Out of stock' : badges.map((badge) => html`<span class="badge">${words(badge)}</span> `)}</p>
</li>`
}

export function priceOf(amount: number, was: number | null, currency: string): Html {
  const before = was === null ? '' : html` <s><span class="hidden">before: </span>${priceText(was, currency)}</s>`
  return html`<strong>${priceText(amount, currency)}</strong>${before}`
}

function filters(choice: Choice, { facets }: SearchAnswerBody, currency: string): Html {
  const { brands, categories, price_ranges, ratings, attributes } = facets
  return html`
${isFiltered(choice) ? html`<p><a href="${addressOf(choice, NO_FILTERS)}">Remove all filters</a></p>` : ''}
${group(
  'Category',
  categories.map(({ category_id, name, count }, place) => {
    // The choice may name a category by its id or its path, so the chosen category is recognised by its position: it
    // comes first.
    const isChosen = choice.category !== '' && place === 0
    const address = addressOf(choice, { category: isChosen ? '' : String(category_id) })
    return { text: name ?? `Category ${category_id}`, count, isChosen, address }
  }),
)}
${group(
  'Brand',
  frequent(
    SHOWN_BRANDS,
    brands.map(({ name, count }) => ({
      text: name,
      count,
      isChosen: choice.brands.includes(name),
      address: addressOf(choice, { brands: toggled(choice.brands, name) }),
    })),
  ),
)}
${group(
  'Price',
  price_ranges.map(({ range, count }) => {
    const limits = limitsOf(range)
    const isChosen = choice.price_min === limits.price_min && choice.price_max === limits.price_max
    return {
      text: rangeText(range, currency),
      count,
      isChosen,
      address: addressOf(choice, isChosen ? { price_min: '', price_max: '' } : limits),
    }
  }),
)}
${priceForm(choice, currency)}
${group(
  'Rating',
  ratings.map(({ min, count }) => {
    const isChosen = choice.rating_min === String(min)
    const stars = min === 1 ? 'star' : 'stars'
    return { text: `${min} ${stars} or more`, count, isChosen, address: addressOf(choice, { rating_min: isChosen ? '' : String(min) }) }
  }),
)}
${attributes.map(({ name, values }) =>
  group(
    name,
    frequent(
      SHOWN_VALUES,
      values.map(({ value, count }) => {
        const attribute = `${name}:${value}`
        const isChosen = choice.attributes.includes(attribute)
        return { text: value, count, isChosen, address: addressOf(choice, { attributes: toggled(choice.attributes, attribute) }) }
      }),
    ),
  ),
)}`
}

/**
 * Returns the first values and all chosen values. Chosen values must stay visible, because their links remove them from
 * the choice.
 */
function frequent(most: number, values: readonly Value[]): readonly Value[] {
  return values.filter(({ isChosen }, place) => place < most || isChosen)
}

function isFiltered({ category, price_min, price_max, rating_min, brands, attributes }: Choice): boolean {
  return [category, price_min, price_max, rating_min].some((value) => value !== '') || brands.length > 0 || attributes.length > 0
}

interface Value {
  readonly text: string
  readonly count: number
  readonly isChosen: boolean
  /** Address of the page for the choice with this value added, or with the value removed if it is already chosen. */
  readonly address: string
}

function group(title: string, values: readonly Value[]): Html {
  if (values.length === 0) return html``
  return html`<section><h2>${title}</h2><ul>${values.map(
    ({ text, count, isChosen, address }) =>
      html`<li><a href="${address}"${isChosen ? html` aria-current="true"` : ''}>${text}</a> <span class="soft">${count}</span></li>`,
  )}</ul></section>`
}

/**
 * Returns the limits of a price range.
 * @param range range of prices such as `25-50` or `500+`, in units of the currency
 */
function limitsOf(range: string): Pick<Choice, 'price_min' | 'price_max'> {
  const [from, to] = range.replace('+', '').split('-')
  return { price_min: from, price_max: to === undefined ? '' : (Number(to) - CENT).toFixed(CENT_DIGITS) }
}

function rangeText(range: string, currency: string): string {
  const [from, to] = range.replace('+', '').split('-').map(Number)
  return to === undefined ? `${priceText(from, currency)} or more` : `${priceText(from, currency)} to ${priceText(to, currency)}`
}

function priceForm(choice: Choice, currency: string): Html {
  return html`<form action="/shop" class="price">${hiddenFields(choice, ['price_min', 'price_max', 'page'])}
<label>From <input name="price_min" inputmode="decimal" size="6" value="${choice.price_min}"></label>
<label>to <input name="price_max" inputmode="decimal" size="6" value="${choice.price_max}"> ${currency}</label>
<button>Apply</button></form>`
}

function sortForm(choice: Choice): Html {
  const chosen = choice.sort === '' ? SORTS[0][0] : choice.sort
  return html`<form action="/shop">${hiddenFields(choice, ['sort', 'page'])}
<label>Sort by <select name="sort">${SORTS.map(
    ([sort, text]) => html`<option value="${sort}"${sort === chosen ? html` selected` : ''}>${text}</option>`,
  )}</select></label> <button>Sort</button></form>`
}

/** Returns hidden fields that keep the other parts of the choice when a form is sent. */
function hiddenFields({ brands, attributes, ...single }: Choice, without: readonly string[]): Html {
  const pairs = [
    ...Object.entries(single).filter(([name, value]) => value !== '' && !without.includes(name)),
    ...brands.map((brand) => ['brand', brand]),
    ...attributes.map((attribute) => ['attr', attribute]),
  ]
  return html`${pairs.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

function pages(choice: Choice, { page, page_size, total }: SearchAnswerBody): Html {
  const current = page ?? 1
  const last = Math.max(1, Math.min(Math.ceil(total / page_size), Math.floor(MOST_PAGED / page_size)))
  if (last === 1 && current === 1) return html``
  const link = (number: number, rel: string, text: string) =>
    html`<a rel="${rel}" href="${addressOf(choice, { page: number === 1 ? '' : String(number) })}">${text}</a>`
  return html`<nav aria-label="Pages">${current > 1 ? link(Math.min(current - 1, last), 'prev', 'Previous page') : ''}
<span>Page ${current} of ${last}</span>
${current < last ? link(current + 1, 'next', 'Next page') : ''}</nav>`
}
