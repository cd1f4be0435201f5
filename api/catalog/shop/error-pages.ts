import { html } from 'hono/html'
import { MOST_PAGED } from '../../../state/indexes/catalog/products.ts'
import type { ErrorDetail } from '../../kit/errors.ts'
import { DEFAULT_PAGE_SIZE } from '../search/request/parameters.ts'
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

const LAST_PAGE = Math.floor(MOST_PAGED / DEFAULT_PAGE_SIZE)

/**
 * Explains which parameters of a search are wrong, and leads back to the search without them.
 * @param details the faults, with paths such as `query.price_min` and `query.brand[0]`
 */
export function faultsOf(choice: Choice, details: readonly ErrorDetail[]): Html {
  const lines = details.map(({ path, message }) => {
    const parameter = parameterOf(path)
    return html`<li>The ${nameOf(parameter)} ${parameter === 'page' ? `must be a whole number from 1 to ${LAST_PAGE}` : named(message)}.</li>`
  })
  return html`<h1>This search is not possible</h1><ul>${lines}</ul>${waysOut(choice, details)}`
}

/** @param details the wrong parameters of the search; empty if the error has another cause */
export function errorOf(title: string, message: string, choice: Choice, details: readonly ErrorDetail[]): Html {
  return html`<h1>${title}</h1><p>${message}</p>${waysOut(choice, details)}`
}

/**
 * Returns a link to all products, and a link to the search without its wrong parameters. Leaves out the second link if
 * no parameter is wrong or none would remain.
 */
function waysOut(choice: Choice, details: readonly ErrorDetail[]): Html {
  const rest = addressOf(without(choice, new Set(details.map(({ path }) => parameterOf(path)))), {})
  const again =
    details.length === 0 || rest === '/shop'
      ? ''
      : html`<p><a href="${rest}">Search without ${details.length === 1 ? 'this value' : 'these values'}</a></p>`
  return html`${again}<p><a href="/shop">Show all products</a></p>`
}

function parameterOf(path: string): string {
  return path.replace(/^query\./, '').replace(/\[\d+\]$/, '')
}

function nameOf(parameter: string): string {
  return NAMES[parameter] ?? parameter
}

/** Replaces the names of the price parameters in a message with the names that visitors see. */
function named(message: string): string {
  return message.replace(/\bprice_m(?:in|ax)\b/g, (parameter) => `the ${nameOf(parameter)}`)
}
