import { randomUUID } from 'node:crypto'
import { utf8 } from '../../../schemas/keys.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import { fingerprintIn } from '../../../state/stores/seen-set/item-hash.ts'
import { seenSetLayout } from '../../../state/stores/seen-set/layout.ts'
import { itemHasher } from '../../../state/stores/seen-set/reader.ts'

/**
 * Returns random user ids with different fingerprints in the seen-set. If two ids had the same fingerprint, a swipe at
 * one user would also hide the other. About one in 700 runs with 14 random users would have such a false positive, and
 * the verdict would report it as a fault.
 */
export function userIds(count: number): string[] {
  const [layer] = seenSetLayout(SEEN_SHAPE).layers
  const hashOf = itemHasher(utf8)
  const ids = new Map<number, string>()
  while (ids.size < count) {
    const id = randomUUID()
    ids.set(fingerprintIn(layer, hashOf(id)), id)
  }
  return [...ids.values()]
}
