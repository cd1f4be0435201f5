import { randomUUID } from 'node:crypto'
import { utf8 } from '../../../schemas/keys.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import { fingerprintIn } from '../../../state/stores/seen-set/item-hash.ts'
import { seenSetLayout } from '../../../state/stores/seen-set/layout.ts'
import { itemHasher } from '../../../state/stores/seen-set/reader.ts'

/**
 * Returns random user ids with different fingerprints in the seen-set. If two ids had the same fingerprint, a swipe on
 * one user would also hide the other, and the verdict would report this false positive as a fault. With 14 random
 * users, this would happen in about one in 700 runs.
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
