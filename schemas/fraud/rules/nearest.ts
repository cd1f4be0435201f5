import { editDistance } from '../../edit-distance.ts'

/** Maximum share of a name's characters that may differ in a suggestion. One different character is always allowed. */
const MAX_DIFFERENT_SHARE = 0.4
/** Maximum length of names that are compared. Without this limit, a name of 4,000 letters would cost too much time. */
const MAX_COMPARED_CHARACTERS = 60

/** Returns the candidate that is most similar to the name, ignoring case; undefined if none is similar. */
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
