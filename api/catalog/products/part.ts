import { setTimeout } from 'node:timers/promises'
import { parseProductId, parseVariantId, placeOfVariant } from '../../../schemas/catalog/ids.ts'
import { productFlow } from '../../../schemas/catalog/products/flow.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { productDecisions, sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import type { CatalogProductCommand } from '../../../schemas/catalog/types.ts'
import { CATALOG_PRODUCTS_VIEW, readProduct } from '../../../state/views/catalog/products.ts'
import { SELLER_PRODUCTS_VIEW } from '../../../state/views/catalog/seller-products.ts'
import { type Answer, jsonAnswer, noContent } from '../../kit/answer.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import type { CommandRequest } from '../../kit/commands/commands.ts'
import { ApiError, errorBody, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { assertValid, check, versionTag } from '../../kit/input.ts'
import { caughtUp, viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import type { CategoryTable } from '../categories/table.ts'
import { detailReader } from '../detail/read.ts'
import { catalogErrors } from '../errors.ts'
import type { Images } from '../images/images.ts'
import { offeredImages, type PresentImages } from '../images/offered.ts'
import { formPlaces } from '../images/places.ts'
import type { CatalogPart } from '../part.ts'
import { type ProductBody, readProductBody } from './body.ts'
import { MOST_LISTED, type NewProduct, NewProductBody, type Replacement, ReplacementBody } from './model.ts'
import { ownList } from './own-list.ts'
import { listedJson, productJson } from './product-json.ts'
import { decided, ofAnotherSeller } from './refusals.ts'
import {
  bulkProductsRoute,
  cancelPeriodRoute,
  createProductRoute,
  deleteProductRoute,
  listProductsRoute,
  readProductRoute,
  replaceProductRoute,
  setPriceRoute,
  setStatusRoute,
} from './routes.ts'
import { skuClaims } from './sku-claims.ts'
import { mayForce, sellerOf, whoIs } from './who.ts'
import { contentOf, expectedBy, NOTHING_ASKED, productWriter, type Written } from './write.ts'

export interface ProductsDeps extends Pick<ServiceKit, 'views' | 'sharedViews' | 'facts' | 'commands' | 'monotonic' | 'now'> {
  readonly categories: Pick<CategoryTable, 'tree'>
  readonly images: Pick<Images, 'keep'>
  readonly currency: string
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  readonly pause?: (ms: number) => Promise<unknown>
}

/** The images and variants of a product that does not exist yet. */
const NO_PRODUCT: PresentImages = { product_id: 0, images: [], variants: [] }

/** Placeholders for the price fields of a command that cancels a price period. */
const NO_PRICE = { price_cents: 0, sets_compare_price: false, compare_price: null, ends_at: null }

/** The parts of a seller's request that the handlers need. */
interface Asked extends CommandRequest {
  readonly expectedVersion: number | undefined
}

/** Creates the routes with which sellers manage their products. */
export function productsPart(deps: ProductsDeps): CatalogPart {
  const { views, facts, commands, categories, images, currency, monotonic, pause = setTimeout } = deps
  const list = ownList({ views, facts, pause, monotonic })
  const writer = productWriter(skuClaims(facts))
  const { around } = detailReader(deps)
  const places = formPlaces()
  const readingFor = ({ subject }: Caller) => ({ caller: subject, images, places })
  const bodyOf = async (product: StoredProduct) => productJson(product, await around(product), deps)

  async function shown(status: 200 | 201, product: StoredProduct): Promise<Answer> {
    const [body] = await Promise.all([bodyOf(product), list.untilShown(product)])
    return jsonAnswer(status, body, { ...PRIVATE, ETag: versionTag(product.version) })
  }

  /**
   * Returns the product that a body describes. Throws ApiError: `forbidden`, `invalid_request`, errors of `contentOf`.
   */
  function newProduct(caller: Caller, { body, uploads }: ProductBody<NewProduct>, place: string): Written {
    const who = whoIs(caller)
    const seller_id = sellerOf(caller, body.seller_id, `${place}.seller_id`)
    const asked = { list: body.images, uploads, skus: skusOf(body), place }
    const content = contentOf(body, offeredImages(asked, NO_PRODUCT) ?? [], categories.tree)
    return { actor: who.actor, seller_id, content, status: body.status, mayForce: mayForce(who, body.force) }
  }

  /**
   * Reads a product that the caller may change; undefined if there is none. Throws ApiError: `product_not_found` for a
   * hidden product of another seller, `forbidden` for a public product of another seller, `not_ready`.
   */
  async function ownProduct(caller: Caller, productId: number): Promise<StoredProduct | undefined> {
    const { owner } = whoIs(caller)
    const product = caughtUp(await readProduct(views, facts.partitionOf(productDecisions, String(productId)), String(productId)))
    if (product === undefined) return undefined
    if (owner === null || String(owner) === product.seller_id) return product
    throw product.status === 'ACTIVE' ? ofAnotherSeller() : new ApiError(catalogErrors.product_not_found)
  }

  async function change(
    from: Asked,
    name: string,
    productId: number,
    asked: Partial<CatalogProductCommand> & Pick<CatalogProductCommand, 'action'>,
  ): Promise<StoredProduct> {
    const { actor, owner } = whoIs(from.caller!)
    const open = await commands.open(from, [name, productId, from.expectedVersion ?? null, asked])
    const expected_version = expectedBy(from.expectedVersion)
    const product = decided(
      await open.run(productFlow, String(productId), { ...NOTHING_ASKED, actor, seller_id: owner, expected_version, ...asked }),
    )
    await list.untilShown(product)
    return product
  }

  /** Creates one product of a bulk request. Throws ApiError if the product is refused. */
  async function createOne(open: Awaited<ReturnType<typeof commands.open>>, caller: Caller, given: unknown, index: number) {
    const place = `body.products[${index}]`
    const checked = check(NewProductBody, given, place)
    assertValid(checked)
    const item = `${index}:`
    const body = { body: checked.value as NewProduct, uploads: [] }
    return await writer.create(open, newProduct(caller, body, place), item)
  }

  return {
    probes: [
      viewProbe(views, facts, CATALOG_PRODUCTS_VIEW, productDecisions),
      viewProbe(views, facts, SELLER_PRODUCTS_VIEW, sellerProducts),
    ],
    routes: [
      bind(listProductsRoute, async ({ caller, query }) => {
        const { page, limit } = query
        const seller = sellerOf(caller!, query.seller_id, 'query.seller_id')
        if (page * limit > MOST_LISTED) throw invalidRequest('query.page', `only the newest ${MOST_LISTED} products can be listed`)
        const { total, products } = await list.page(String(seller), query)
        return jsonAnswer(200, { products: products.map((product) => listedJson(product, currency)), page, limit, total }, PRIVATE)
      }),
      bind(createProductRoute, async (input) => {
        const given = await readProductBody(input.arriving!, NewProductBody, readingFor(input.caller!))
        const written = newProduct(input.caller!, given, 'body')
        const open = await commands.open(input, ['createProduct', given.body, hashesOf(given)])
        return await shown(201, await writer.create(open, written))
      }),
      bind(bulkProductsRoute, async (input) => {
        const open = await commands.open(input, ['createProducts', input.body])
        const made = await Promise.allSettled(input.body.products.map((given, index) => createOne(open, input.caller!, given, index)))
        const results = await Promise.all(
          made.map(async (one) => {
            if (one.status === 'rejected') return failed(one.reason, input.requestId)
            const [product] = await Promise.all([bodyOf(one.value), list.untilShown(one.value)])
            return { status: 201, product }
          }),
        )
        return jsonAnswer(200, { results }, PRIVATE)
      }),
      bind(readProductRoute, async ({ caller, params }) => {
        const product = await ownProduct(caller!, productOf(params.product_id))
        if (product === undefined) throw new ApiError(catalogErrors.product_not_found)
        const headers = { ...PRIVATE, ETag: versionTag(product.version) }
        return { ...jsonAnswer(200, await bodyOf(product), headers), hasVersionTag: true }
      }),
      bind(replaceProductRoute, async (input) => {
        const { caller, expectedVersion } = input
        const productId = productOf(input.params.product_id)
        // Decoding images is costly, so the handler checks the owner before it reads the body. The body may arrive
        // slowly, so the handler reads the product again once the body has arrived.
        await ownProduct(caller!, productId)
        const given = await readProductBody(input.arriving!, ReplacementBody, readingFor(caller!))
        const { body, uploads } = given
        const who = whoIs(caller!)
        const product = await ownProduct(caller!, productId)
        const asked = { list: body.images, uploads, skus: skusOf(body), place: 'body' }
        const present = product ?? { ...NO_PRODUCT, product_id: productId }
        const imagesFor = () => offeredImages(asked, present)
        // A repeated request may name images that the product no longer has. The repetition must send the same command
        // as the first request, so it uses the images that the first request found.
        const namesImages = body.images?.some(({ image_id }) => image_id !== undefined) ?? false
        const uploaded = namesImages ? null : imagesFor()
        const content = contentOf(body, uploaded, categories.tree)
        const open = await commands.open(input, ['replaceProduct', productId, expectedVersion ?? null, body, hashesOf(given)])
        const namedImages = () => {
          if (product === undefined) throw new ApiError(catalogErrors.product_not_found)
          return imagesFor()
        }
        const images = namesImages ? await open.once('images', namedImages) : uploaded
        const written = {
          actor: who.actor,
          seller_id: who.owner,
          content: { ...content, images },
          status: body.status ?? null,
          mayForce: mayForce(who, body.force),
        }
        // Even if the product is gone, the command must be sent, because the request may repeat an earlier request that
        // already has an answer.
        const known = product?.variants.map(({ sku }) => sku) ?? []
        return await shown(200, await writer.replace(open, productId, { ...written, expectedVersion, known }))
      }),
      bind(setStatusRoute, async (input) => {
        const asked = { action: 'set_status', status: input.body.status } as const
        return await shown(200, await change(input, 'setProductStatus', productOf(input.params.product_id), asked))
      }),
      bind(deleteProductRoute, async (input) => {
        await change(input, 'deleteProduct', productOf(input.params.product_id), { action: 'set_status', status: 'DELETED' })
        return noContent()
      }),
      bind(setPriceRoute, async (input) => {
        const { price_cents, compare_price_cents, starts_at = null, ends_at = null, force } = input.body
        const { variant_id, productId } = variantOf(input.params.variant_id)
        const may_force = mayForce(whoIs(input.caller!), force)
        const compare = { sets_compare_price: compare_price_cents !== undefined, compare_price: compare_price_cents ?? null }
        const price = { variant_id, price_cents, ...compare, starts_at, ends_at }
        return await shown(200, await change(input, 'setPrice', productId, { action: 'set_price', may_force, price }))
      }),
      bind(cancelPeriodRoute, async (input) => {
        const { variant_id, productId } = variantOf(input.params.variant_id)
        const price = { ...NO_PRICE, variant_id, starts_at: input.params.starts_at }
        return await shown(200, await change(input, 'cancelPricePeriod', productId, { action: 'cancel_period', price }))
      }),
    ],
  }
}

function skusOf({ variants }: NewProduct | Replacement): string[] {
  return variants.map(({ sku }) => sku)
}

function hashesOf({ uploads }: Pick<ProductBody<unknown>, 'uploads'>): string[] {
  return uploads.map(({ content_hash }) => content_hash)
}

/** Parses the id of a product. Throws ApiError `product_not_found` for a string that cannot be the id of a product. */
function productOf(text: string): number {
  const id = parseProductId(text)
  if (id === undefined) throw new ApiError(catalogErrors.product_not_found)
  return id
}

/**
 * Parses the id of a variant, and derives the id of its product. Throws ApiError `variant_not_found` for a string that
 * cannot be the id of a variant.
 */
function variantOf(text: string): { readonly variant_id: number; readonly productId: number } {
  const variant_id = parseVariantId(text)
  const place = variant_id === undefined ? undefined : placeOfVariant(variant_id)
  if (variant_id === undefined || place === undefined) throw new ApiError(catalogErrors.variant_not_found)
  return { variant_id, productId: place.productId }
}

function failed(reason: unknown, requestId: string) {
  if (!(reason instanceof ApiError)) throw reason
  const { request_id: _ofAll, ...body } = errorBody(reason, requestId)
  return { status: reason.definition.status, ...body }
}
