import { integer, pick, type Random, seededRandom } from '../../random/random.ts'

/** A category of the demo, in the format of `PUT /api/v1/categories/{id}`. */
export interface DemoCategory {
  readonly id: number
  readonly body: { readonly name: string; readonly slug: string; readonly parent_id: number | null }
}

export interface DemoSeller {
  readonly id: string
  readonly body: { readonly name: string; readonly rating: number; readonly rating_count: number }
}

interface DemoVariant {
  readonly sku: string
  readonly attributes: Readonly<Record<string, string>>
  readonly price_cents: number
  readonly compare_price_cents: number | null
  readonly weight_grams: number
}

/** A product in the format of `POST /api/v1/seller/products`. */
export interface DemoProduct {
  readonly title: string
  readonly description: string
  readonly category_id: number
  readonly brand: string
  readonly variants: readonly DemoVariant[]
}

/** What is sold in a category. */
interface Kind {
  readonly category: number
  readonly noun: string
  readonly styles: readonly string[]
  readonly purpose: string
  /** The attribute in which the variants of a product differ. */
  readonly attribute: string
  readonly values: readonly string[]
  /** Price range of a product's first variant, in cents. */
  readonly from: number
  readonly to: number
  readonly grams: number
}

function category(id: number, name: string, slug: string, parent_id: number | null = null): DemoCategory {
  return { id, body: { name, slug, parent_id } }
}

/** The categories of the demo. Each parent precedes its subcategories. */
export const DEMO_CATEGORIES: readonly DemoCategory[] = [
  category(1, 'Tools', 'tools'),
  category(2, 'Kitchen', 'kitchen'),
  category(3, 'Garden', 'garden'),
  category(4, 'Outdoor', 'outdoor'),
  category(11, 'Drills', 'drills', 1),
  category(12, 'Saws', 'saws', 1),
  category(21, 'Pots and pans', 'pots-and-pans', 2),
  category(22, 'Knives', 'knives', 2),
  category(31, 'Hoses', 'hoses', 3),
  category(41, 'Tents', 'tents', 4),
  category(42, 'Jackets', 'jackets', 4),
]

export const DEMO_SELLERS: readonly DemoSeller[] = [
  { id: '7001', body: { name: 'Miller & Daughters', rating: 4.7, rating_count: 812 } },
  { id: '7002', body: { name: 'Harbour Street Supplies', rating: 4.2, rating_count: 240 } },
  { id: '7003', body: { name: 'Northlight Goods', rating: 3.9, rating_count: 57 } },
]

const COLOURS = ['red', 'blue', 'black', 'green', 'grey']
const SIZES = ['S', 'M', 'L', 'XL']

const KINDS: readonly Kind[] = [
  {
    ...{ category: 11, noun: 'Drill', purpose: 'Drives screws and drills wood, metal and masonry.' },
    styles: ['Cordless', 'Hammer', 'Compact', 'Right-angle'],
    ...{ attribute: 'voltage', values: ['12 V', '18 V', '20 V'], from: 4_900, to: 24_900, grams: 1_600 },
  },
  {
    ...{ category: 12, noun: 'Saw', purpose: 'Cuts boards and panels straight.' },
    styles: ['Circular', 'Mitre', 'Jig', 'Folding'],
    ...{ attribute: 'blade', values: ['6 1/2 in', '7 1/4 in', '10 in'], from: 2_400, to: 39_900, grams: 3_900 },
  },
  {
    ...{ category: 21, noun: 'Pan', purpose: 'Heats evenly and cleans easily.' },
    styles: ['Cast iron', 'Non-stick', 'Steel', 'Copper'],
    ...{ attribute: 'diameter', values: ['8 in', '10 in', '12 in'], from: 1_900, to: 12_900, grams: 1_900 },
  },
  {
    ...{ category: 22, noun: 'Knife', purpose: 'Keeps its edge for months of daily use.' },
    styles: ["Chef's", 'Paring', 'Bread', 'Santoku'],
    ...{ attribute: 'length', values: ['4 in', '6 in', '8 in'], from: 900, to: 14_900, grams: 210 },
  },
  {
    ...{ category: 31, noun: 'Garden hose', purpose: 'Does not kink, and stays soft in the cold.' },
    styles: ['Expandable', 'Rubber', 'Soaker', 'Coiled'],
    ...{ attribute: 'length', values: ['25 ft', '50 ft', '100 ft'], from: 1_500, to: 8_900, grams: 2_400 },
  },
  {
    ...{ category: 41, noun: 'Tent', purpose: 'Stands in five minutes and sheds heavy rain.' },
    styles: ['Two-person', 'Family', 'Trekking', 'Dome'],
    ...{ attribute: 'colour', values: COLOURS, from: 7_900, to: 49_900, grams: 3_200 },
  },
  {
    ...{ category: 42, noun: 'Rain jacket', purpose: 'Keeps the wind and the rain out, and breathes.' },
    styles: ['Light', 'Trail', 'City', 'Alpine'],
    ...{ attribute: 'size', values: SIZES, from: 3_900, to: 22_900, grams: 420 },
  },
]

const BRANDS = ['Aldwin', 'Borea', 'Corvane', 'Delmar', 'Everin', 'Fjordby']
/** Selling prices are one cent below a multiple of this number, so they end with 99 cents. */
const CENTS_PER_UNIT = 100
const ON_SALE = 0.25
const USUAL_PRICE = 1.25

/** Returns a seller's products. Equal arguments give equal products. */
export function demoProducts(seed: number, { id }: DemoSeller, count: number): DemoProduct[] {
  const random = seededRandom(seed + Number(id))
  return Array.from({ length: count }, (_, index) => demoProduct(random, `demo-${id}-${index}`))
}

function demoProduct(random: Random, sku: string): DemoProduct {
  const kind = pick(random, KINDS)
  const brand = pick(random, BRANDS)
  const model = `${String.fromCharCode(65 + integer(random, 26))}${10 * (1 + integer(random, 90))}`
  const price = Math.round((kind.from + random() * (kind.to - kind.from)) / CENTS_PER_UNIT) * CENTS_PER_UNIT - 1
  const isOnSale = random() < ON_SALE
  const title = `${brand} ${model} ${pick(random, kind.styles)} ${kind.noun}`
  const variants = kind.values.slice(0, 1 + integer(random, kind.values.length)).map((value, index): DemoVariant => {
    const price_cents = price + index * CENTS_PER_UNIT * 10
    return {
      sku: `${sku}-${index}`,
      attributes: { [kind.attribute]: value },
      price_cents,
      compare_price_cents: isOnSale ? Math.round(price_cents * USUAL_PRICE) : null,
      weight_grams: kind.grams,
    }
  })
  return { title, description: `${kind.purpose} Made by ${brand}.`, category_id: kind.category, brand, variants }
}
