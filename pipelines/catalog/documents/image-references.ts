/** Returns the images that a change to a product adds, and the images that it removes. */
export function imageChanges(
  before: readonly string[],
  after: readonly string[],
): { readonly gained: readonly string[]; readonly lost: readonly string[] } {
  const [known, next] = [new Set(before), new Set(after)]
  return { gained: [...next].filter((hash) => !known.has(hash)), lost: [...known].filter((hash) => !next.has(hash)) }
}
