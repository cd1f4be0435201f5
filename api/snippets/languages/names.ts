import { PLAINTEXT } from './detect.ts'
import { furtherLanguages } from './further.ts'
import { languages } from './table.ts'

/** Names of languages, keyed by name and alias. */
const known = new Map<string, string>([
  ...furtherLanguages.flatMap((names) => names.map((alias) => [alias, names[0]] as const)),
  ...languages.flatMap(({ name, aliases }) => [name, ...aliases].map((alias) => [alias, name] as const)),
  ['text', PLAINTEXT],
  ['txt', PLAINTEXT],
  ['toml', 'toml'],
])

/** Finds a language by its name or alias. Case does not matter. */
export function knownLanguage(name: string): string | undefined {
  return known.get(name.toLowerCase())
}
