/** The content from which the vector of a new item is computed. */
export interface ItemContent {
  readonly title: string
  readonly categoryPath: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Maximum number of tokens of an item. Further tokens are dropped, because single words in a long text mean little. */
const MAX_TOKENS = 100

/**
 * Splits an item into tokens: the words of its title, and the parts of its category path and of its attributes' values.
 * Training and serving must use the same tokens.
 */
export function contentTokens({ title, categoryPath, attributes }: ItemContent): string[] {
  const tokens = new Set<string>()
  for (const word of wordsOf(title)) tokens.add(`title:${word}`)
  for (const part of categoryPath.split(/[/>]/)) if (part.trim() !== '') tokens.add(`category:${part.trim().toLowerCase()}`)
  for (const [name, value] of Object.entries(attributes)) {
    for (const part of value.split(/[,;|]/)) {
      if (part.trim() !== '') tokens.add(`${name.toLowerCase()}:${part.trim().toLowerCase()}`)
    }
  }
  return [...tokens].slice(0, MAX_TOKENS)
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []
}
