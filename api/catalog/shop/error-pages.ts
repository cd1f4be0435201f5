import { html } from 'hono/html'
import type { ErrorDetail } from '../../kit/errors.ts'
import { addressOf, type Choice, without } from './choice.ts'
import type { Html } from './layout.ts'

/** What visitors call the parameters of a search. They see labels on the page, and not the names of the parameters. */
const NAMES: Readonly<Record<string, string>> = {
  q: 'search text',
  category: 'category',
  price_min: 'lowest price',
  price_max: 'highest price',
  brand: 'brand',
  rating_min: 'lowest rating',
  attr: 'attribute',
  sort: 'sort order',
  page: 'page number',
}

const ALL_PRODUCTS = html`<p><a href="/shop">Show all products</a></p>`

/**
 * Explains which parameters of a search are wrong, and leads back to the search without them.
 * @param details the faults, with paths such as `query.price_min` and `query.brand[0]`
 */
export function faultsOf(choice: Choice, details: readonly ErrorDetail[]): Html {
  const faults = details.map(({ path, message }) => ({ parameter: path.replace(/^query\./, '').replace(/\[\d+\]$/, ''), message }))
  const lines = faults.map(({ parameter, message }) => html`<li>The ${nameOf(parameter)} ${named(message)}.</li>`)
  const rest = addressOf(without(choice, new Set(faults.map(({ parameter }) => parameter))), {})
  const again =
    rest === '/shop' ? '' : html`<p><a href="${rest}">Search without ${lines.length === 1 ? 'this value' : 'these values'}</a></p>`
  return html`<h1>This search is not possible</h1><ul>${lines}</ul>${again}${ALL_PRODUCTS}`
}

export function errorOf(title: string, message: string): Html {
  return html`<h1>${title}</h1><p>${message}</p>${ALL_PRODUCTS}`
}

function nameOf(parameter: string): string {
  return NAMES[parameter] ?? parameter
}

/** Replaces the names of parameters in a message. */
function named(message: string): string {
  return message.replace(/\bprice_m(?:in|ax)\b/g, (parameter) => `the ${nameOf(parameter)}`)
}
