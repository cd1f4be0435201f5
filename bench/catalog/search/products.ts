import { addSale } from '../../../schemas/catalog/documents/sales.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { integer, pick, type Random, seededRandom } from '../../../tools/random/random.ts'
import type { Titles } from './titles.ts'

const DAY_MS = 24 * 3_600_000
const AGE_DAYS = 720
const BRANDS = 2_000
const CATEGORIES = 500
const COLOURS = ['black', 'blue', 'bronze', 'chrome', 'green', 'grey', 'red', 'white']
const SIZES = ['S', 'M', 'L', 'XL', '10 cm', '20 cm', '50 cm', '1 m']
const MATERIALS = ['brass', 'glass', 'oak', 'plastic', 'steel', 'wool']
/** Lowest price in cents. Prices range from 1 to 1,000 units of the currency, and low prices are more frequent. */
const LEAST_PRICE_CENTS = 100
const PRICE_SPREAD = 1_000
const SOLD_SHARE = 0.4
const SOLD_WITHIN_DAYS = 30

/** Returns a random integer from 0 to `below` - 1. Small integers are more frequent than large ones. */
function skewed(random: Random, below: number): number {
  return Math.floor(random() ** 2 * below)
}

/**
 * Returns a function that makes the product with a given number. Equal numbers give equal products.
 * @param now epoch ms
 */
export function productMaker(titles: Titles, now: number): (number: number) => CatalogDocument {
  return function makeProduct(number) {
    const random = seededRandom(number)
    const count = random() < 0.6 ? skewed(random, 500) : 0
    const price = Math.round(LEAST_PRICE_CENTS * PRICE_SPREAD ** random())
    return {
      product_id: number + 1,
      is_public: true,
      revision: 1,
      seller_id: BigInt(1 + skewed(random, 10_000)),
      category_id: 1 + skewed(random, CATEGORIES),
      title: titles(random),
      description: '',
      brand: `Brand ${skewed(random, BRANDS)}`,
      attributes: [`colour:${pick(random, COLOURS)}`, `size:${pick(random, SIZES)}`, `material:${pick(random, MATERIALS)}`],
      price_cents: price,
      was_cents: random() < 0.1 ? Math.round(price * 1.25) : null,
      created_at: now - Math.floor(random() * AGE_DAYS * DAY_MS),
      thumbnail: null,
      rating_sum: Math.round(count * (2.5 + 2.5 * random())),
      rating_count: count,
      stars: [],
      in_stock: pick(random, ['in_stock', 'in_stock', 'in_stock', 'low_stock', 'out_of_stock']),
      sales_log: random() < SOLD_SHARE ? addSale(null, 1 + skewed(random, 500), now - integer(random, SOLD_WITHIN_DAYS) * DAY_MS) : null,
      seller_rating: 2.5 + 2.5 * random(),
      badges: [],
    }
  }
}
