/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A reservation of one or more products. Value of store `carts` of topology `reservations` and view of topic `reservation-decisions`, key: reservation_id. */
export interface Cart {
  reservation_id: string
  status: CartStatus
  /** one per product */
  parts: CartPart[]
  created_at: number
  /** the last moment at which the cart is open, unless it ends earlier */
  ends_at: number
  is_extended: boolean
  /** null: the cart is open */
  ended_at: null | number
}

export type CartStatus = 'OPEN' | 'CHECKED_OUT' | 'RELEASED' | 'EXPIRED'

/** What a cart reserves of one product. */
export interface CartPart {
  product_id: number
  lines: StockLine[]
}

/** Units of a variant in a warehouse. */
export interface StockLine {
  variant_id: number
  warehouse_id: string
  quantity: number
}

/** A request about one cart. Body of topic reservation-commands, key: reservation_id. */
export interface CartCommand {
  action: CartAction
  /** OPEN: what the cart reserves, one part per product; otherwise empty */
  parts: CartPart[]
  /** OPEN: the end of the part that ends first; otherwise null */
  parts_end_at: null | number
  /** OPEN, EXTEND: how long the cart stays open after the command, in ms; otherwise 0 */
  held_ms: number
}

export type CartAction = 'OPEN' | 'CHECK_OUT' | 'RELEASE' | 'EXTEND'

/** The end or the extension of a cart, for the stock of one of its products. Topic reservation-outcomes, key: product_id. */
export interface CartOutcome {
  reservation_id: string
  product_id: number
  outcome: CartEnd
  /** as in Cart; EXTENDED: the new time */
  ends_at: number
  lines: StockLine[]
  at: number
}

export type CartEnd = 'DEDUCTED' | 'RELEASED' | 'EXPIRED' | 'EXTENDED'

/** The data about one product that search and lists use. Topic catalog-documents, key: product_id in decimal. A product that is no longer public keeps a record without content, so that even a reader that was down for days stops showing it. */
export interface CatalogDocument {
  product_id: number
  is_public: boolean
  /** revision of the product */
  revision: number
  seller_id: bigint
  category_id: number
  title: string
  description: string
  brand: null | string
  /** <name in lower case>:<value> of the active variants, without duplicates */
  attributes: string[]
  /** price of the cheapest active variant; 0 if the product is not public */
  price_cents: number
  /** compare price of the cheapest active variant, if it is higher than price_cents; otherwise null */
  was_cents: null | number
  created_at: number
  /** content hash of the first image; null: the product has no image or is not public */
  thumbnail: null | string
  /** sum of the stars of all reviews */
  rating_sum: number
  rating_count: number
  /** number of reviews with 1, 2, 3, 4 and 5 stars; empty: there are no reviews, or the product is not public */
  stars: number[]
  /** stock status of all active variants together */
  in_stock: CatalogStockStatus
  /** log2 of the sum of 2^(sold_at / 7 days) over all units sold, with sold_at in epoch ms; null: none was sold, or the product is not public. 2^(sales_log - t / 7 days) is the number of units, decayed to the time t with a half-life of 7 days. New sales alone update the document at most once a minute */
  sales_log: null | number
  /** mean of the seller's ratings and 10 prior ratings of 3.5, from 1 to 5; null counts as 3.5. Updated only when the mean has changed by at least 0.2 */
  seller_rating: null | number
  /** those of bestseller, top_rated, sale and low_stock that apply, in this order. Readers add the badge `new`, which depends on the time */
  badges: string[]
}

export type CatalogStockStatus = 'in_stock' | 'low_stock' | 'out_of_stock'

/** A product with its variants and images. Part of the events and decisions about products. */
export interface CatalogProduct {
  /** from 1 to 2^45 - 1: schemas/catalog/ids.ts */
  product_id: number
  seller_id: bigint
  title: string
  description: string
  category_id: number
  brand: null | string
  status: CatalogProductStatus
  created_at: number
  updated_at: number
  /** grows with every replacement and every change of the status */
  version: number
  /** grows with every change of the product or its prices; consumers ignore records with an older revision */
  revision: number
  /** in the order of their numbers, inactive ones included */
  variants: CatalogVariant[]
  /** in display order */
  images: CatalogImage[]
}

export type CatalogProductStatus = 'DRAFT' | 'ACTIVE' | 'INACTIVE' | 'DELETED'

/** A form of a product that is sold, such as a size or a colour. */
export interface CatalogVariant {
  /** product_id × 256 + the variant's number (1 to 255): schemas/catalog/ids.ts */
  variant_id: number
  /** unique among the products that are not deleted */
  sku: string
  /** values by name, such as colour and size */
  attributes: { [key: string]: string }
  price_cents: number
  /** the price to strike through, in cents; null: none */
  compare_price: null | number
  weight_grams: null | number
  status: CatalogVariantStatus
}

export type CatalogVariantStatus = 'ACTIVE' | 'INACTIVE'

/** A picture of a product. */
export interface CatalogImage {
  /** hash of product_id and content_hash */
  image_id: number
  /** the variant that the image shows; null: all variants */
  variant_id: null | number
  /** place in the display order, from 0 */
  position: number
  alt_text: null | string
  /** SHA-256 of the original in hex */
  content_hash: string
  content_type: string
  /** in pixels, of the original with its orientation applied */
  width: number
  height: number
}

/** A request about a product. Body of topic product-commands, key: product_id in decimal. */
export interface CatalogProductCommand {
  action: CatalogProductAction
  /** the subject of the caller's token */
  actor: string
  /** create: the seller of the new product. Otherwise, the seller to whom the product must belong; null: an administrator, who may change every product */
  seller_id: null | bigint
  /** the command is refused if the product has a different version; null: any */
  expected_version: null | number
  /** true: an administrator overrides the price guard */
  may_force: boolean
  /** create, replace: when the earliest of the claims for skus was decided; null: no sku was claimed */
  claimed_at: null | number
  /** create, replace: the skus that are claimed for the product; otherwise empty */
  claimed_skus: string[]
  /** create, replace, set_status: the new status. null: ACTIVE for create, unchanged for the other actions */
  status: null | CatalogProductStatus
  /** create, replace: the new content; otherwise null */
  content: null | CatalogProductContent
  /** set_price: the new price. cancel_period: variant_id and starts_at identify the period to cancel, and the other fields have no meaning. Otherwise null */
  price: null | CatalogPriceRequest
}

export type CatalogProductAction = 'create' | 'replace' | 'set_status' | 'set_price' | 'cancel_period'

/** What sellers say about a product. */
export interface CatalogProductContent {
  title: string
  description: string
  category_id: number
  brand: null | string
  variants: CatalogOffer[]
  /** in display order; null: the product keeps its images */
  images: null | CatalogOfferedImage[]
}

/** A variant as the seller wants it to be. */
export interface CatalogOffer {
  sku: string
  attributes: { [key: string]: string }
  price_cents: number
  compare_price: null | number
  weight_grams: null | number
}

/** An image that the product is to have. Its file is already stored. */
export interface CatalogOfferedImage {
  image_id: number
  /** sku of the variant that the image shows; null: the image shows all variants */
  sku: null | string
  alt_text: null | string
  /** SHA-256 of the original in hex */
  content_hash: string
  content_type: string
  /** pixels of the original, with its orientation applied */
  width: number
  height: number
}

/** A new price of a variant, or a price period to cancel. */
export interface CatalogPriceRequest {
  variant_id: number
  price_cents: number
  /** false: the compare price does not change */
  sets_compare_price: boolean
  compare_price: null | number
  /** null: now */
  starts_at: null | number
  /** null: the price is permanent */
  ends_at: null | number
}

/** A product, and the data on which decisions about it depend. Value of store `products` of topology `products` and view of topic `product-decisions`, key: product_id in decimal. */
export interface CatalogProductState {
  product: CatalogProduct
  /** one per variant, in the order of the variants */
  pricing: CatalogPricing[]
}

/** What the prices of a variant depend on. */
export interface CatalogPricing {
  /** the lowest of all prices that were ever accepted */
  lowest_cents: number
  highest_cents: number
  /** the price to return to when the running period ends; null: no period is running */
  regular: null | CatalogRegularPrice
  /** periods that have not ended, in the order of their start */
  periods: CatalogPricePeriod[]
}

/** The price outside of periods. */
export interface CatalogRegularPrice {
  price_cents: number
  compare_price: null | number
}

/** A limited-time price of a variant. */
export interface CatalogPricePeriod {
  starts_at: number
  /** exclusive */
  ends_at: number
  price_cents: number
  compare_price: null | number
  /** true: an administrator overrode the price guard */
  is_forced: boolean
  /** the subject of the caller's token */
  actor: string
}

/** A category of products. Topic categories, key: category_id in decimal. */
export interface Category {
  category_id: number
  /** null: a root */
  parent_id: null | number
  name: string
  /** the last part of the category's path, such as saws in tools/saws */
  slug: string
}

/** The best-selling products of a category, without those of its subcategories. Topic and view `category-leaders`, and value of store `leaders` of topology `catalog`, key: category_id in decimal. */
export interface CategoryLeaders {
  category_id: number
  /** public products with sales, best-selling first, at most 12 */
  product_ids: number[]
}

/** The sales of a product, by which its category ranks it. Repartition topic `by-category` of topology `catalog`, key: category_id in decimal. */
export interface CategorySale {
  product_id: number
  /** as in CatalogDocument; null: the category no longer ranks the product */
  sales_log: null | number
}

/** The counts and other data that complete the document of a product. Value of store `counters` of topology `catalog`, key: product_id. */
export interface DocumentCounters {
  /** newest revision of the product that was seen; 0: none */
  revision: number
  /** ids of the active variants */
  active: number[]
  /** stock of every variant that ever had a movement */
  stock: VariantStock[]
  /** as in CatalogDocument */
  stars: number[]
  /** as in CatalogDocument, but includes sales that the document does not show yet */
  sales_log: null | number
  seller_rating: null | number
  /** category_id of the category whose best seller this product is; null: none */
  leads: null | number
  /** category_id of the category in which the product is ranked by its sales; null: none */
  ranked_in: null | number
  /** content hashes of the product's images, each once */
  images: string[]
  /** when the document was last published; 0: never */
  written_at: number
}

export interface VariantStock {
  variant_id: number
  /** available units in all warehouses together */
  available: number
}

/** A change of a product's document that comes from its seller or its category. Repartition topic `by-product` of topology `catalog`, key: product_id in decimal. */
export interface DocumentNote {
  kind: DocumentNoteKind
  /** SELLER: as in CatalogDocument; LEADER: null */
  seller_rating: null | number
  /** LEADER: the category; otherwise 0 */
  category_id: number
  /** LEADER: true if the product is now the category's best seller, false if it no longer is; SELLER: false */
  leads: boolean
}

export type DocumentNoteKind = 'SELLER' | 'LEADER'

/** The available units of a variant in a warehouse. Value of store `stock` of topology `catalog`, key: variant_id and warehouse_id. */
export interface DocumentStock {
  available: number
  /** version of the newest InventoryChange that was applied */
  version: number
}

/** How many products of one partition use an image. Value of topic `catalog-images` and of store `images` of topology `catalog`, key: content hash of the image, partitioned like the products. If the number is 0, the store has no row, and the topic has a tombstone. */
export interface ImageReferences {
  products: number
}

/** A request to rebuild an index of the search server. Topic index.rebuild, key: name of the index. */
export interface IndexRebuild {
  rebuild_id: string
  requested_by: string
  requested_at: number
}

/** The progress of a rebuild of a search index. Topic index-rebuilds, key: rebuild_id. */
export interface IndexRebuildStatus {
  rebuild_id: string
  index_name: string
  state: IndexRebuildState
  /** filling: number of offsets that have been processed, out of `total`, in all partitions of the topic from which the index is built; otherwise 0 */
  done: number
  total: number
  requested_at: number
  /** start of the last attempt; null: no attempt has begun */
  started_at: null | number
  updated_at: number
}

export type IndexRebuildState = 'requested' | 'filling' | 'complete'

/** A movement of stock and its result. Topic inventory.changed, key: product_id. For each variant and warehouse, readers must ignore records whose version is not above the last one that they have read. */
export interface InventoryChange {
  variant_id: number
  product_id: number
  warehouse_id: string
  kind: InventoryMovement
  /** ADJUST: signed; otherwise above 0 */
  quantity: number
  /** null for RECEIVE and ADJUST */
  reservation_id: null | string
  /** after the movement */
  available: number
  /** after the movement */
  reserved: number
  /** version of the StockRow after the movement; every movement adds 1 */
  version: number
  /** RESERVE, EXPIRE: the end of the reservation; null for other kinds */
  ends_at: null | number
  /** the command that caused the movement; null: a cart ended, or a reservation expired */
  command_id: null | string
  /** when the broker appended the command or the CartOutcome; for a reservation that expired by itself, when the worker noticed the expiry */
  at: number
}

export type InventoryMovement = 'RESERVE' | 'DEDUCT' | 'RELEASE' | 'EXPIRE' | 'RECEIVE' | 'ADJUST'

/** A request about the stock of one product. Body of topic inventory-commands, key: product_id. */
export interface InventoryCommand {
  action: InventoryAction
  /** RESERVE_PART: one or more; RELEASE_PART: none; otherwise exactly one */
  lines: WantedLine[]
  /** the command is refused if the row has a different version; null: any */
  version: null | number
  /** DEDUCT, RELEASE: id of the reservation, or null for the reservations that end first, not counting parts of carts. RESERVE_PART, RELEASE_PART: the id of the cart. Otherwise null */
  reservation_id: null | string
  /** RESERVE: how long the reservation stays open, in ms. RESERVE_PART: how long the cart is to stay open, in ms; the part stays open a minute longer. Otherwise 0 */
  held_ms: number
}

export type InventoryAction = 'RESERVE' | 'DEDUCT' | 'RELEASE' | 'RECEIVE' | 'ADJUST' | 'RESERVE_PART' | 'RELEASE_PART'

export interface WantedLine {
  variant_id: number
  /** null (only for RESERVE_PART): the warehouse with the most available units */
  warehouse_id: null | string
  /** ADJUST: signed; otherwise above 0 */
  quantity: number
  /** FOR_SALE: variant and product are active; NOT_FOR_SALE: one of them is not; UNKNOWN: the API found no such variant */
  offer: VariantOffer
}

export type VariantOffer = 'FOR_SALE' | 'NOT_FOR_SALE' | 'UNKNOWN'

/** The units of an open reservation that is not part of a cart. Value of store `open` of topology `inventory`, key: variant_id, warehouse_id, ends_at and reservation_id. */
export interface OpenQuantity {
  quantity: number
}

/** A product, and those of its prices that changed at the same time and for the same reason. Topic price.changed, key: product_id in decimal. */
export interface PriceChanged {
  product: CatalogProduct
  changes: CatalogPriceChange[]
  reason: CatalogPriceReason
  /** true: an administrator has overridden the price guard */
  is_forced: boolean
  /** the subject of the token of the caller who requested the change or the period */
  actor: string
  /** when the prices changed */
  at: number
}

/** The new price of a variant. */
export interface CatalogPriceChange {
  variant_id: number
  /** null: the variant is new */
  old_price_cents: null | number
  new_price_cents: number
  old_compare_price: null | number
  new_compare_price: null | number
}

/** LISTED: the product is new */
export type CatalogPriceReason = 'LISTED' | 'CHANGED' | 'PERIOD_BEGAN' | 'PERIOD_ENDED'

/** A new product, or a product whose content or status was changed. Topics product.created and product.updated, key: product_id. */
export interface ProductEvent {
  product: CatalogProduct
  /** the subject of the caller's token */
  actor: string
  /** when the broker appended the command that made the change */
  at: number
}

/** A search that was answered. The record does not identify the caller. Topic product-searches, key: the query. */
export interface ProductSearch {
  /** empty: none was given */
  query: string
  category_id: null | number
  brands: string[]
  /** name:value */
  attributes: string[]
  price_min_cents: null | number
  price_max_cents: null | number
  rating_min: null | number
  sort: string
  /** 0: the caller requested the page by a cursor */
  page: number
  /** how exactly the results match the words: all, described, most or half, as in docs/services/catalog.md#words; empty: no words were given */
  breadth: string
  did_you_mean: null | string
  total: number
  /** the first 10 results */
  product_ids: number[]
  took_ms: number
  at: number
}

/** A user's stars for a product; a newer record replaces an older one of the same user. Topic reviews, key: product_id in decimal. */
export interface Review {
  product_id: number
  user_id: bigint
  /** 1 to 5 */
  stars: number
  at: number
}

/** What buyers see of a seller. Topic and view `sellers`, key: seller_id in decimal. */
export interface Seller {
  seller_id: bigint
  name: string
  /** mean of the ratings, from 1 to 5; null: there are no ratings */
  rating: null | number
  rating_count: number
}

/** A product as its seller lists it. Topic seller-products, key: <seller_id>:<product_id>, partitioned by seller_id. */
export interface SellerProduct {
  product_id: number
  seller_id: bigint
  title: string
  category_id: number
  brand: null | string
  status: CatalogProductStatus
  /** price of the cheapest active variant; null: no variant is active */
  price_cents: null | number
  /** number of active variants */
  variants: number
  created_at: number
  updated_at: number
  version: number
  revision: number
}

/** A seller's rating, as it is in the documents of the seller's products, or will be once it has been copied to all of them. Value of store `sellers` of topology `catalog`, key: seller_id in decimal. */
export interface SellerRating {
  /** as in CatalogDocument */
  seller_rating: null | number
}

/** A request to claim or release skus of one partition. A claim gets all of its skus or none. Body of topic sku-commands, key: one of the skus. */
export interface SkuCommand {
  action: SkuAction
  /** the product for which the skus are claimed or released */
  product_id: number
  /** identifies the request that claims the skus; a release frees only skus that are claimed with this id alone */
  claim_id: string
  skus: string[]
}

export type SkuAction = 'claim' | 'release'

/** The product that uses a sku or has claimed it. Value of store `owners` of topology `skus`, key: sku. */
export interface SkuOwner {
  product_id: number
  /** null: the product uses the sku */
  claim: null | SkuClaim
}

/** A claim that no product has used yet. */
export interface SkuClaim {
  /** id of the last request that claimed the sku */
  claim_id: string
  /** true: several requests rely on this claim, so none of them can end it */
  is_shared: boolean
  ends_at: number
}

/** A product has begun or ceased to use a sku. Topic sku-uses, key: sku. */
export interface SkuUse {
  product_id: number
  is_used: boolean
}

/** An open reservation of one product's stock. Value of store `reservations` of topology `inventory`, key: product_id and reservation_id. */
export interface StockReservation {
  reservation_id: string
  product_id: number
  /** true: part of a cart, so DEDUCT and RELEASE cannot end the reservation */
  is_part: boolean
  /** the last moment at which the reservation is open */
  ends_at: number
  /** a single line unless the reservation is a part of a cart; the lines differ in variant or warehouse */
  lines: StockLine[]
}

/** The stock of a variant in a warehouse. Value of store `stock` of topology `inventory` and view of topic `inventory-decisions`, key: <variant_id>:<warehouse_id>. */
export interface StockRow {
  variant_id: number
  warehouse_id: string
  /** units that can be reserved */
  available: number
  /** units of open reservations */
  reserved: number
  /** the number of movements */
  version: number
  /** no open reservation ends before this time, apart from parts of carts; commands without a reservation_id begin their search here */
  first_end: number
}

/** A group of synonyms. Topic catalog-synonyms, key: the name of the group. */
export interface SynonymGroup {
  terms: string[]
  /** true: a search for the first term finds the others, but not the reverse; false: a search for any term finds the others */
  one_way: boolean
}

declare module '../load.ts' {
  interface RecordTypes {
    'catalog/Cart': Cart
    'catalog/CartCommand': CartCommand
    'catalog/CartOutcome': CartOutcome
    'catalog/CatalogDocument': CatalogDocument
    'catalog/CatalogProduct': CatalogProduct
    'catalog/CatalogProductCommand': CatalogProductCommand
    'catalog/CatalogProductState': CatalogProductState
    'catalog/Category': Category
    'catalog/CategoryLeaders': CategoryLeaders
    'catalog/CategorySale': CategorySale
    'catalog/DocumentCounters': DocumentCounters
    'catalog/DocumentNote': DocumentNote
    'catalog/DocumentStock': DocumentStock
    'catalog/ImageReferences': ImageReferences
    'catalog/IndexRebuild': IndexRebuild
    'catalog/IndexRebuildStatus': IndexRebuildStatus
    'catalog/InventoryChange': InventoryChange
    'catalog/InventoryCommand': InventoryCommand
    'catalog/OpenQuantity': OpenQuantity
    'catalog/PriceChanged': PriceChanged
    'catalog/ProductEvent': ProductEvent
    'catalog/ProductSearch': ProductSearch
    'catalog/Review': Review
    'catalog/Seller': Seller
    'catalog/SellerProduct': SellerProduct
    'catalog/SellerRating': SellerRating
    'catalog/SkuCommand': SkuCommand
    'catalog/SkuOwner': SkuOwner
    'catalog/SkuUse': SkuUse
    'catalog/StockReservation': StockReservation
    'catalog/StockRow': StockRow
    'catalog/SynonymGroup': SynonymGroup
  }
}
