import type { CatalogOffer, CatalogPriceRequest, CatalogProductCommand, CatalogProductContent } from '../../../schemas/catalog/types.ts'

/** The functions of this file create product commands in the form in which the API sends them. */
const SELLER = 7n
export const MINUTE_MS = 60_000

const NOTHING: CatalogProductCommand = {
  action: 'create',
  actor: '7',
  seller_id: SELLER,
  expected_version: null,
  may_force: false,
  claimed_at: null,
  claimed_skus: [],
  status: null,
  content: null,
  price: null,
}

export function offer(sku: string, price_cents = 1_000, more: Partial<CatalogOffer> = {}): CatalogOffer {
  return { sku, attributes: { colour: 'red' }, price_cents, compare_price: null, weight_grams: null, ...more }
}

export function content(variants: CatalogOffer[], more: Partial<CatalogProductContent> = {}): CatalogProductContent {
  return { title: 'Shoe', description: 'It fits.', category_id: 3, brand: 'Acme', variants, images: null, ...more }
}

type More = Partial<CatalogProductCommand>

/** @param claimedAt epoch ms */
export function creation(claimedAt: number, variants: CatalogOffer[] = [offer('a')], more: More = {}): CatalogProductCommand {
  return { ...NOTHING, claimed_at: claimedAt, claimed_skus: variants.map(({ sku }) => sku), content: content(variants), ...more }
}

export function replacement(variants: CatalogOffer[], more: More = {}): CatalogProductCommand {
  return { ...NOTHING, action: 'replace', content: content(variants), ...more }
}

export function newStatus(status: CatalogProductCommand['status'], more: More = {}): CatalogProductCommand {
  return { ...NOTHING, action: 'set_status', status, ...more }
}

export function newPrice(
  variant_id: number,
  price_cents: number,
  price: Partial<CatalogPriceRequest> = {},
  more: More = {},
): CatalogProductCommand {
  const asked = { variant_id, price_cents, sets_compare_price: false, compare_price: null, starts_at: null, ends_at: null, ...price }
  return { ...NOTHING, action: 'set_price', price: asked, ...more }
}
