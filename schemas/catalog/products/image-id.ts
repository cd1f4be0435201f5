import { createHash } from 'node:crypto'

/** Number of bits of an id. With 53 bits, every id is a safe integer in JSON. */
const ID_BITS = 53

/** Returns the id of an image. The same content in the same product always has the same id. The id is never 0. */
export function imageIdOf(productId: number, contentHash: string): number {
  const hash = createHash('sha256').update(`image:${productId}:${contentHash}`).digest()
  return Math.max(1, Number(BigInt.asUintN(ID_BITS, hash.readBigUInt64BE())))
}
