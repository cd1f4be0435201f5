import { parseProductId } from '../../../schemas/catalog/ids.ts'
import type { Answer } from '../../kit/answer.ts'
import { ApiError, errorHeaders } from '../../kit/errors.ts'
import { check } from '../../kit/input.ts'
import { pageFiles } from '../../kit/page/files.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import type { CategoryTable } from '../categories/table.ts'
import { detailAnswer } from '../detail/answer.ts'
import { type DetailReads, detailReader } from '../detail/read.ts'
import { catalogErrors } from '../errors.ts'
import type { CatalogPart } from '../part.ts'
import { type SearchParameters, searchParameters } from '../search/request/parameters.ts'
import type { SearchAnswerBody } from '../search/results/answer.ts'
import type { CatalogSettings } from '../settings.ts'
import { type Choice, choiceOf, parametersOf } from './choice.ts'
import { errorOf, faultsOf } from './error-pages.ts'
import { pageAnswer } from './layout.ts'
import { productPage } from './product-page.ts'
import { shopFileRoute, shopProductRoute, shopRoute } from './routes.ts'
import { searchPage } from './search-page.ts'

export interface ShopDeps
  extends Pick<ServiceKit, 'views' | 'sharedViews' | 'facts' | 'publicUrl' | 'now'>,
    Pick<CatalogSettings, 'currency'> {
  readonly categories: Pick<CategoryTable, 'tree'>
  /** Searches in the same way as the API, and throws the same errors. */
  search(parameters: SearchParameters): Promise<SearchAnswerBody>
}

const RELATED = 4
const INVALID = 400
const UNAVAILABLE = 503
/** Replaces messages about servers and views, which visitors of the shop do not know. */
const TRY_AGAIN = 'Please try again in a minute.'
const TITLES: Readonly<Record<string, string>> = {
  product_not_found: 'This product does not exist',
  unknown_category: 'This category does not exist',
}

/** Creates the routes of the shop's pages, which the server renders. */
export function shopPart(deps: ShopDeps): CatalogPart {
  const { categories, publicUrl, currency, now, search } = deps
  const files = pageFiles({ folder: new URL('./files/', import.meta.url), files: ['style.css'] })
  const { read } = detailReader(deps)
  /**
   * Makes the URL of an image relative. The content security policy allows only images from the server that sent the
   * page, and the browser may have reached that server under a name that differs from `publicUrl`.
   */
  const localImage = (url: string) => (url.startsWith(publicUrl) ? url.slice(publicUrl.length) : url)

  async function results(query: Parameters<typeof choiceOf>[0]): Promise<Answer> {
    const choice = choiceOf(query)
    return await orErrorPage(choice, async () => {
      const { value, details } = check(searchParameters, parametersOf(choice), 'query')
      if (value === undefined) return await pageAnswer(INVALID, 'Shop', choice.q, faultsOf(choice, details))
      const answer = await search(value as SearchParameters)
      const title = choice.q === '' ? 'Shop' : `${choice.q} – Shop`
      return await pageAnswer(200, title, choice.q, searchPage(choice, answer, currency, localImage))
    })
  }

  async function product(id: string): Promise<Answer> {
    return await orErrorPage(choiceOf({}), async () => {
      const { tree } = categories
      const productId = parseProductId(id)
      const found = productId === undefined ? undefined : await read(productId)
      if (found === undefined || found.product.status !== 'ACTIVE') throw new ApiError(catalogErrors.product_not_found)
      const categoryPath = tree.pathOf(found.product.category_id).map(({ name }) => name)
      const detail = detailAnswer({ ...found, categoryPath }, { publicUrl, currency, now: now() })
      const others = await Promise.all(detail.related_products.slice(0, RELATED).map(read))
      const related = others.filter(isPublic).map((other) => other.product)
      return await pageAnswer(200, `${detail.title} – Shop`, '', productPage(detail, related, localImage))
    })
  }

  return {
    routes: [
      bind(shopRoute, ({ query }) => results(query)),
      bind(shopProductRoute, ({ params: { product_id } }) => product(product_id)),
      bind(shopFileRoute, ({ params: { file } }) => files.file(file)),
    ],
  }
}

function isPublic(found: DetailReads | undefined): found is DetailReads {
  return found?.product.status === 'ACTIVE'
}

async function orErrorPage(choice: Choice, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, code } = error.definition
    const title = TITLES[code] ?? 'The shop cannot show this now'
    const message = status === UNAVAILABLE ? TRY_AGAIN : error.message
    const page = await pageAnswer(status, title, choice.q, errorOf(title, message, choice, error.options.details ?? []))
    return { ...page, headers: { ...page.headers, ...errorHeaders(error) } }
  }
}
