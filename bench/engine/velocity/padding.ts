import { seededRandom } from '../../../tools/random/random.ts'
import { MAX_STATE_PADDING } from '../names.ts'

const SEED = 1
const BYTES = 2 * MAX_STATE_PADDING

/**
 * Creates a function that returns the padding of a card's state. The bytes are random, so that the database cannot
 * compress them. Every call for the same card returns the same bytes.
 */
export function paddings(bytes: number): (card: number) => Uint8Array {
  const random = seededRandom(SEED)
  const all = Uint8Array.from({ length: BYTES }, () => random() * 256)
  return (card) => {
    const start = (card * 7) % (BYTES - bytes)
    return all.subarray(start, start + bytes)
  }
}
