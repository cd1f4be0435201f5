import { contentTokens, type ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'

/**
 * The tokens of items as a sparse matrix. `numbers` from `starts[i]` to `starts[i + 1]` are the token numbers of item
 * i.
 */
export interface ItemTokens {
  /** Names of the tokens, indexed by token number. There is at least one token. */
  readonly names: readonly string[]
  readonly numbers: Uint32Array
  readonly starts: Uint32Array
}

/**
 * A token gets a number only if at least this many items have it. The vector of a token that only one item has would
 * merely repeat the vector of this item.
 */
const LEAST_ITEMS = 2
/**
 * Maximum number of tokens. If there are more, the most frequent tokens are kept. A million titles may contain a
 * million different words, but every API process holds the vectors of the tokens (8 MB), and training solves equations
 * with one unknown per token.
 */
const MOST_TOKENS = 8_192

/**
 * Assigns numbers to the tokens from which the vectors of new items are computed.
 * @param contentOf called twice for each item
 */
export function itemTokens(
  itemIds: Iterable<bigint>,
  contentOf: (itemId: bigint) => ItemContent | undefined,
  most: number = MOST_TOKENS,
): ItemTokens {
  const counts = new Map<string, number>()
  const tokensOf = (itemId: bigint) => {
    const content = contentOf(itemId)
    return content === undefined ? [] : contentTokens(content)
  }
  for (const itemId of itemIds) for (const token of tokensOf(itemId)) counts.set(token, (counts.get(token) ?? 0) + 1)
  const frequent = [...counts].filter(([, count]) => count >= LEAST_ITEMS)
  frequent.sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
  const names = frequent.slice(0, most).map(([name]) => name)
  const numberOf = new Map(names.map((name, number) => [name, number]))
  const numbers: number[] = []
  const starts = [0]
  for (const itemId of itemIds) {
    for (const token of tokensOf(itemId)) {
      const number = numberOf.get(token)
      if (number !== undefined) numbers.push(number)
    }
    starts.push(numbers.length)
  }
  return { names: names.length === 0 ? ['none'] : names, numbers: Uint32Array.from(numbers), starts: Uint32Array.from(starts) }
}
