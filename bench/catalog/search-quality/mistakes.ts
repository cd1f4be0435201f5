import { integer, pick, type Random } from '../../../tools/random/random.ts'

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
const KINDS = ['left out', 'inserted', 'replaced', 'swapped'] as const

/** Returns the query with one random mistake: a letter omitted, inserted, replaced, or swapped with its neighbour. */
export function withMistake(query: string, random: Random): string {
  const places = [...query.matchAll(/[a-z]/gi)].map(({ index }) => index)
  if (places.length === 0) return query
  const [at, letter] = [pick(random, places), pick(random, LETTERS)]
  switch (KINDS[integer(random, KINDS.length)]) {
    case 'left out':
      return query.slice(0, at) + query.slice(at + 1)
    case 'inserted':
      return query.slice(0, at) + letter + query.slice(at)
    case 'replaced':
      return query.slice(0, at) + letter + query.slice(at + 1)
    case 'swapped': {
      const first = Math.max(0, Math.min(at, query.length - 2))
      return query.slice(0, first) + (query[first + 1] ?? '') + query[first] + query.slice(first + 2)
    }
  }
}
