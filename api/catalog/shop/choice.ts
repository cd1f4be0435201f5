/** The search that a page of the shop shows. All values are strings, as in the query string of the URL. */
export interface Choice {
  readonly q: string
  readonly category: string
  readonly price_min: string
  readonly price_max: string
  readonly rating_min: string
  readonly sort: string
  readonly page: string
  readonly brands: readonly string[]
  /** Attributes in the form `name:value`. */
  readonly attributes: readonly string[]
}

type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

const SINGLE = ['q', 'category', 'price_min', 'price_max', 'rating_min', 'sort', 'page'] as const

/** Reads the choice from a query. Empty fields, which forms also send, are treated as omitted. */
export function choiceOf(query: RawQuery): Choice {
  const all = (name: string) => [query[name] ?? []].flat().filter((value) => value !== '')
  const one = (name: string) => all(name)[0] ?? ''
  const single = Object.fromEntries(SINGLE.map((name) => [name, one(name)])) as Record<(typeof SINGLE)[number], string>
  return { ...single, brands: all('brand'), attributes: all('attr').map(withLowerName) }
}

/** Spells the name of an attribute as the facets do, so that the page recognises the chosen values. */
function withLowerName(attribute: string): string {
  const end = Math.max(attribute.indexOf(':'), 0)
  return attribute.slice(0, end).toLowerCase() + attribute.slice(end)
}

/** Returns the choice as parameters for the search. */
export function parametersOf({ brands, attributes, ...single }: Choice): Record<string, string | string[]> {
  const given = Object.entries(single).filter(([, value]) => value !== '')
  // Brands are always passed as a list, because the search would split a single text at its commas.
  return {
    ...Object.fromEntries(given),
    ...(brands.length > 0 && { brand: [...brands] }),
    ...(attributes.length > 0 && { attr: [...attributes] }),
  }
}

/**
 * Applies changes to a choice, and returns the address of the page for the result. Unless `changes` contains a page
 * number, the address leads to the first page.
 */
export function addressOf(choice: Choice, changes: Partial<Choice>): string {
  const { brands, attributes, ...single } = { ...choice, page: '', ...changes }
  const pairs = new URLSearchParams(Object.entries(single).filter(([, value]) => value !== ''))
  for (const brand of brands) pairs.append('brand', brand)
  for (const attribute of attributes) pairs.append('attr', attribute)
  const text = pairs.toString()
  return text === '' ? '/shop' : `/shop?${text}`
}

/** Returns a choice without the given parameters of the search. */
export function without(choice: Choice, parameters: ReadonlySet<string>): Choice {
  const { brands, attributes, ...single } = choice
  const kept = Object.fromEntries(Object.entries(single).map(([name, value]) => [name, parameters.has(name) ? '' : value]))
  return {
    ...(kept as typeof single),
    brands: parameters.has('brand') ? [] : brands,
    attributes: parameters.has('attr') ? [] : attributes,
  }
}

/** Adds a value to a list, or removes the value if the list already contains it. */
export function toggled(list: readonly string[], value: string): readonly string[] {
  return list.includes(value) ? list.filter((other) => other !== value) : [...list, value]
}
