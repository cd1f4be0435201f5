import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { Evidence, Logged } from './evidence.ts'

/**
 * Checks that every product has become an item. The log must contain one record per change of the item and no others,
 * and the last record must have the product's own category.
 */
export function items({ items: all, logs }: Evidence): string[] {
  const documents = Map.groupBy(logs.documents, ({ key }) => String(key))
  const written = Map.groupBy(logs.items, ({ key }) => String(key))
  return all
    .filter((item) => documents.has(item))
    .flatMap((item) => {
      const own = documents.get(item)!
      const records = (written.get(item) ?? []).map(({ value }) => value!)
      const expected = withoutRepetitions(formsOf(own))
      const is = withoutRepetitions(records.map(formOf))
      const repeated = records.findIndex((record, place) => place > 0 && wholeOf(record) === wholeOf(records[place - 1]))
      return [
        ...(expected.join('; ') === is.join('; ') ? [] : [`item ${item} was ${is.join('; ')} instead of ${expected.join('; ')}`]),
        ...(repeated < 0 ? [] : [`record ${repeated} of item ${item} changes nothing`]),
        ...category(item, own, records.at(-1), logs.categories),
      ]
    })
}

function formOf({ title, status, attributes }: RecommendationItem): string {
  return `${status} ${title} ${JSON.stringify(Object.entries(attributes).sort())}`
}

function wholeOf({ updated_at, ...item }: RecommendationItem): string {
  return `${formOf({ ...item, updated_at })} ${item.category_path} ${item.created_at} ${item.thumbnail_url} ${item.description}`
}

/** Returns the expected successive versions of an item. The item keeps its text while the product is hidden. */
function formsOf(documents: readonly Logged<CatalogDocument>[]): string[] {
  let form: string | undefined
  return documents.flatMap(({ value }) => {
    const { is_public, title, brand, attributes } = value!
    if (!is_public) {
      form = form?.replace(/^ACTIVE/, 'INACTIVE')
      return form === undefined ? [] : [form]
    }
    const pairs = [...attributes.map((text) => text.split(':')), ...(brand === null ? [] : [['brand', brand]])]
    form = `ACTIVE ${title} ${JSON.stringify(pairs.sort())}`
    return [form]
  })
}

function withoutRepetitions(forms: readonly string[]): string[] {
  return forms.filter((form, place) => form !== forms[place - 1])
}

function category(
  item: string,
  documents: readonly Logged<CatalogDocument>[],
  is: RecommendationItem | undefined,
  categories: Evidence['logs']['categories'],
): string[] {
  const last = documents.at(-1)?.value
  if (!last?.is_public || is === undefined) return []
  const known = new Map(categories.map(({ value }) => [value!.category_id, value!]))
  const own = known.get(last.category_id)
  const parent = own?.parent_id == null ? undefined : known.get(own.parent_id)
  const expected = [parent?.name, own?.name].filter((name) => name !== undefined).join('/')
  return is.category_path === expected ? [] : [`item ${item} is in category ${is.category_path} instead of ${expected}`]
}
