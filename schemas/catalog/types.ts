/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A reservation over several products. Store carts of the topology reservations and view of topic reservation-decisions, key: reservation_id. */
export interface Cart {
  reservation_id: string
  status: CartStatus
  /** one per product */
  parts: CartPart[]
  created_at: number
  /** the last moment at which the cart is open */
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
  /** OPEN */
  parts: CartPart[]
  /** OPEN: when the first part ends */
  parts_end_at: null | number
  /** OPEN, EXTEND: how long the cart stays open */
  held_ms: number
}

export type CartAction = 'OPEN' | 'CHECK_OUT' | 'RELEASE' | 'EXTEND'

/** The end or the extension of a cart, for the stock of one of its products. Topic reservation-outcomes, key: product_id. */
export interface CartOutcome {
  reservation_id: string
  product_id: number
  outcome: CartEnd
  /** the end of the cart */
  ends_at: number
  lines: StockLine[]
  at: number
}

export type CartEnd = 'DEDUCTED' | 'RELEASED' | 'EXPIRED' | 'EXTENDED'

/** The data of a product that search and lists show. Topic catalog-documents, key: product_id. A product that is not public keeps a record without text, so that a reader that was off for days does not show it again. */
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
  /** price of the cheapest active variant; 0 if no variant is active */
  price_cents: number
  /** compare price of the cheapest active variant, if it is higher than price_cents */
  was_cents: null | number
  created_at: number
  /** content hash of the first image; null: there is none */
  thumbnail: null | string
  /** sum of the stars of all reviews */
  rating_sum: number
  rating_count: number
  /** how many reviews have 1, 2, 3, 4 and 5 stars; empty: there are no reviews */
  stars: number[]
  /** stock status of all active variants together */
  in_stock: CatalogStockStatus
  /** log2 of the sum of 2^(sold_at / 7 days) over all sold units, with sold_at in epoch ms; null: none was sold. 2^(sales_log - t / 7 days) is the number of units at time t, with a half-life of 7 days */
  sales_log: null | number
  /** 1 to 5: the seller's mean, including 10 prior ratings of 3.5. Updated only when its factor has changed by 0.05. null: unknown, counts as 3.5 */
  seller_rating: null | number
  /** sale, low_stock, top_rated, bestseller. Readers add new, which depends on the time */
  badges: string[]
}

export type CatalogStockStatus = 'in_stock' | 'low_stock' | 'out_of_stock'

/** A product with its variants. Part of the events about products. */
export interface CatalogProduct {
  /** schemas/catalog/ids.ts */
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
  /** grows with every decision about the product; consumers ignore older ones */
  revision: number
  /** in the order of their numbers, inactive ones included */
  variants: CatalogVariant[]
  /** in display order */
  images: CatalogImage[]
}

export type CatalogProductStatus = 'DRAFT' | 'ACTIVE' | 'INACTIVE' | 'DELETED'

/** A form of a product that is sold, such as a size or a colour. */
export interface CatalogVariant {
  /** product_id × 256 + number: schemas/catalog/ids.ts */
  variant_id: number
  /** unique among the products that are not deleted */
  sku: string
  /** values by name, such as colour and size */
  attributes: { [key: string]: string }
  price_cents: number
  /** the price to strike through, in cents */
  compare_price: null | number
  weight_grams: null | number
  status: CatalogVariantStatus
}

export type CatalogVariantStatus = 'ACTIVE' | 'INACTIVE'

/** A picture of a product. */
export interface CatalogImage {
  /** follows from the product and the content */
  image_id: number
  /** null: it shows all variants */
  variant_id: null | number
  /** place in the display order */
  position: number
  alt_text: null | string
  /** SHA-256 of the original in hex */
  content_hash: string
  content_type: string
  /** pixels of the original, with its orientation applied */
  width: number
  height: number
}

/** A request about a product. Body of topic product-commands, key: product_id in decimal. */
export interface CatalogProductCommand {
  action: CatalogProductAction
  /** the subject of the token */
  actor: string
  /** the product must belong to this seller; null: an administrator, who may change every product */
  seller_id: null | bigint
  /** the command is refused if the product has a different version; null: any */
  expected_version: null | number
  /** prices need not pass the price guard */
  may_force: boolean
  /** create, replace: when the earliest of the claims for skus was decided */
  claimed_at: null | number
  /** create, replace: the skus that are claimed for the product */
  claimed_skus: string[]
  /** create, replace, set_status; null: ACTIVE, or unchanged */
  status: null | CatalogProductStatus
  /** create, replace */
  content: null | CatalogProductContent
  /** set_price; cancel_period: the period of this variant that begins at starts_at */
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
  /** the variant that it shows; null: all */
  sku: null | string
  alt_text: null | string
  /** SHA-256 of the original in hex */
  content_hash: string
  content_type: string
  /** pixels of the original, with its orientation applied */
  width: number
  height: number
}

/** A new price of a variant. */
export interface CatalogPriceRequest {
  variant_id: number
  price_cents: number
  /** false: the compare price stays */
  sets_compare_price: boolean
  compare_price: null | number
  /** null: now */
  starts_at: null | number
  /** null: permanently */
  ends_at: null | number
}

/** A product, and the data on which decisions about it depend. Store products of the topology products and topic product-decisions, key: product_id in decimal. */
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
  /** set while a period runs: the price to return to afterwards */
  regular: null | CatalogRegularPrice
  /** periods that have not ended, in the order of their start */
  periods: CatalogPricePeriod[]
}

/** The price outside of periods. */
export interface CatalogRegularPrice {
  price_cents: number
  compare_price: null | number
}

/** A price of a variant for a time. */
export interface CatalogPricePeriod {
  starts_at: number
  /** exclusive */
  ends_at: number
  price_cents: number
  compare_price: null | number
  /** an administrator has overruled the price guard */
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
  /** the category's part of the path of slugs */
  slug: string
}

/** The best sellers of a category, without those of the categories below it. Topic and view category-leaders, key: category_id in decimal. */
export interface CategoryLeaders {
  category_id: number
  /** public products that were sold, best first, at most 12 */
  product_ids: number[]
}

/** The sales of a product for its category. Repartition topic by-category of the topology catalog, key: category_id. */
export interface CategorySale {
  product_id: number
  /** as in CatalogDocument; null: the product is not, or no longer, in this category */
  sales_log: null | number
}

/** What the document of a product shows beside the product itself. Store counters of the topology catalog, key: product_id. */
export interface DocumentCounters {
  /** newest revision of the product that was seen; 0: none */
  revision: number
  /** ids of the active variants */
  active: number[]
  /** stock of every variant that ever had a movement */
  stock: VariantStock[]
  /** as in CatalogDocument */
  stars: number[]
  /** as in CatalogDocument, with all sales */
  sales_log: null | number
  seller_rating: null | number
  /** category whose best seller this product is */
  leads: null | number
  /** category that counts this product's sales */
  ranked_in: null | number
  /** content hashes of the product's images, each once */
  images: string[]
  /** when the document was last written */
  written_at: number
}

export interface VariantStock {
  variant_id: number
  /** in all warehouses */
  available: number
}

/** What a seller or a category changes in the document of a product. Repartition topic by-product of the topology catalog, key: product_id. */
export interface DocumentNote {
  kind: DocumentNoteKind
  /** SELLER: as in CatalogDocument */
  seller_rating: null | number
  /** LEADER: the category; otherwise 0 */
  category_id: number
  /** LEADER: whether the product is its best seller */
  leads: boolean
}

export type DocumentNoteKind = 'SELLER' | 'LEADER'

/** The available units of a variant in a warehouse. Store stock of the topology catalog, key: variant_id and warehouse_id. */
export interface DocumentStock {
  available: number
  /** version of the inventory's row */
  version: number
}

/** The number of products of one partition that use an image. Store images of the topology catalog and topic catalog-images, key: content hash of the image, partitioned like the products. There is no record if the number is 0. */
export interface ImageReferences {
  products: number
}

/** A request to rebuild an index of the search server. Topic index.rebuild, key: name of the index. */
export interface IndexRebuild {
  rebuild_id: string
  requested_by: string
  requested_at: number
}

/** How far a rebuild has come. Topic index-rebuilds, key: rebuild_id. */
export interface IndexRebuildStatus {
  rebuild_id: string
  index_name: string
  state: IndexRebuildState
  /** number of the topic's offsets that have been processed; 0 for a complete rebuild */
  done: number
  total: number
  requested_at: number
  /** start of the last attempt */
  started_at: null | number
  updated_at: number
}

export type IndexRebuildState = 'requested' | 'filling' | 'complete'

/** A movement of stock and its result. Topic inventory.changed, key: product_id. Readers must ignore records with an older version than one that they have read. */
export interface InventoryChange {
  variant_id: number
  product_id: number
  warehouse_id: string
  kind: InventoryMovement
  /** ADJUST: signed; otherwise above 0 */
  quantity: number
  /** null: RECEIVE, ADJUST */
  reservation_id: null | string
  /** after the movement */
  available: number
  /** after the movement */
  reserved: number
  /** version of the row; every movement adds 1 */
  version: number
  /** RESERVE, EXPIRE: the end of the reservation */
  ends_at: null | number
  /** the command that caused the movement; null: a cart ended, or a reservation expired */
  command_id: null | string
  /** when the broker appended the command or the end of the cart; for an expired reservation, when the worker noticed */
  at: number
}

export type InventoryMovement = 'RESERVE' | 'DEDUCT' | 'RELEASE' | 'EXPIRE' | 'RECEIVE' | 'ADJUST'

/** A request about the stock of one product. Body of topic inventory-commands, key: product_id. */
export interface InventoryCommand {
  action: InventoryAction
  /** one unless the action is RESERVE_PART */
  lines: WantedLine[]
  /** the command is refused if the row has a different version; null: any */
  version: null | number
  /** DEDUCT, RELEASE: the reservation; null: the oldest reservations. RESERVE_PART, RELEASE_PART: the id of the cart */
  reservation_id: null | string
  /** RESERVE, RESERVE_PART: how long a reservation stays open */
  held_ms: number
}

export type InventoryAction = 'RESERVE' | 'DEDUCT' | 'RELEASE' | 'RECEIVE' | 'ADJUST' | 'RESERVE_PART' | 'RELEASE_PART'

export interface WantedLine {
  variant_id: number
  /** null, only for RESERVE_PART: the warehouse with the most available units */
  warehouse_id: null | string
  /** ADJUST: signed; otherwise above 0 */
  quantity: number
  /** what the caller found: variant and product are active, one of them is not, or there is no such variant */
  offer: VariantOffer
}

export type VariantOffer = 'FOR_SALE' | 'NOT_FOR_SALE' | 'UNKNOWN'

/** The units of an open reservation that is not a part. Store open of the topology inventory, key: variant_id, warehouse_id, ends_at and reservation_id. */
export interface OpenQuantity {
  quantity: number
}

/** Prices of a product that one decision set. Topic price.changed, key: product_id. */
export interface PriceChanged {
  product: CatalogProduct
  changes: CatalogPriceChange[]
  reason: CatalogPriceReason
  /** an administrator has overruled the price guard */
  is_forced: boolean
  /** the subject of the token of the caller who requested the change or the period */
  actor: string
  /** when it was decided */
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

/** A created or changed product. Topics product.created and product.updated, key: product_id. */
export interface ProductEvent {
  product: CatalogProduct
  /** the subject of the caller's token */
  actor: string
  /** when it was decided */
  at: number
}

/** An answered search, without the caller. Topic product-searches, key: the query. */
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
  /** how exactly the words had to be found; empty without words */
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

/** What buyers see of a seller. Topic and view sellers, key: seller_id in decimal. */
export interface Seller {
  seller_id: bigint
  name: string
  /** 1 to 5: the mean; null: nobody has rated the seller */
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
  /** price of the cheapest active variant */
  price_cents: null | number
  /** number of active variants */
  variants: number
  created_at: number
  updated_at: number
  version: number
  revision: number
}

/** The rating of a seller that the documents of its products contain or will contain next. Store sellers of the topology catalog, key: seller_id. */
export interface SellerRating {
  /** as in CatalogDocument */
  seller_rating: null | number
}

/** A request about skus of one partition, all or nothing. Body of topic sku-commands, key: one of the skus. */
export interface SkuCommand {
  action: SkuAction
  /** the product that is to have them */
  product_id: number
  /** identifies the request that claims the skus; a release ends only the claims with the same id */
  claim_id: string
  skus: string[]
}

export type SkuAction = 'claim' | 'release'

/** The product that has a sku or has claimed it. Store owners of the topology skus, key: sku. */
export interface SkuOwner {
  product_id: number
  /** null: the product uses the sku */
  claim: null | SkuClaim
}

/** A claim that no product has used yet. */
export interface SkuClaim {
  /** id of the request that made the claim */
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

/** An open reservation of one product's stock. Store reservations of the topology inventory, key: product_id and reservation_id. */
export interface StockReservation {
  reservation_id: string
  product_id: number
  /** true: part of a cart, which ends only with the cart */
  is_part: boolean
  /** the last moment at which the reservation is open */
  ends_at: number
  /** a single line unless the reservation is a part of a cart; the lines differ in variant or warehouse */
  lines: StockLine[]
}

/** The stock of a variant in a warehouse. Store stock of the topology inventory and view of topic inventory-decisions, key: <variant_id>:<warehouse_id>. */
export interface StockRow {
  variant_id: number
  warehouse_id: string
  /** units that can be reserved */
  available: number
  /** units of open reservations */
  reserved: number
  /** the number of movements */
  version: number
  /** lower bound for the ends of open reservations that are not parts; commands without a reservation_id start to search here */
  first_end: number
}

/** Terms that searches treat as equal. Topic catalog-synonyms, key: the name of the group. */
export interface SynonymGroup {
  terms: string[]
  /** whether only the first term also finds the others */
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
