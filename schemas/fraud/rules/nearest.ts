import { editDistance } from '../../edit-distance.ts'

/** A suggestion may differ from the name by this share of its characters. */
const MAX_DIFFERENT_SHARE = 0.4
/** Longer names are never compared, so that a condition of 4,000 letters costs nothing. */
const MAX_COMPARED_CHARACTERS = 60

/** Returns the candidate that is most similar to the name, ignoring case, or undefined if none is similar. */
export function nearestOf(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_COMPARED_CHARACTERS) return undefined
  const wanted = name.toLowerCase()
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(name.length * MAX_DIFFERENT_SHARE)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = candidate
    }
  }
  return nearest
}
