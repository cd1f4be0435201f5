/**
 * Reads and writes zigzag varints in the format of record batches. Sizes are in bytes. Functions with "long" in their
 * names support integers within ±2^52, whose zigzag values are exact.
 */

const LOW_7_BITS = 0x7f
const CONTINUES = 0x80
const TWO_TO_31 = 2_147_483_648

/** Returns the size of an unsigned 32-bit varint in bytes. */
function unsignedVarintSize(value: number): number {
  return Math.floor((38 - Math.clz32(value | 1)) / 7)
}

/** Returns the size in bytes of the zigzag varint of a 32-bit integer. */
export function varintSize(value: number): number {
  return unsignedVarintSize((value << 1) ^ (value >> 31))
}

/**
 * Writes the zigzag varint of a 32-bit integer.
 * @returns the position after it
 */
export function writeVarint(buffer: Buffer, at: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  while (rest > LOW_7_BITS) {
    buffer[at++] = (rest & LOW_7_BITS) | CONTINUES
    rest >>>= 7
  }
  buffer[at++] = rest
  return at
}

function fitsInt32(value: number): boolean {
  return value >= -TWO_TO_31 && value < TWO_TO_31
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1
}

/** Returns the size in bytes of the zigzag varint of an integer within ±2^52. */
export function varlongSize(value: number): number {
  if (fitsInt32(value)) return varintSize(value)
  let rest = zigzag(value)
  let bytes = 1
  while (rest > LOW_7_BITS) {
    rest = Math.floor(rest / 128)
    bytes++
  }
  return bytes
}

/**
 * Writes the zigzag varint of an integer within ±2^52.
 * @returns the position after it
 */
export function writeVarlong(buffer: Buffer, at: number, value: number): number {
  if (fitsInt32(value)) return writeVarint(buffer, at, value)
  let rest = zigzag(value)
  while (rest > LOW_7_BITS) {
    buffer[at++] = (rest % 128) | CONTINUES
    rest = Math.floor(rest / 128)
  }
  buffer[at++] = rest
  return at
}

/** Reads consecutive varints. It stores the position in a field, so that reading a value allocates nothing. */
export class VarintCursor {
  at = 0

  /** Reads the zigzag varint of a 32-bit integer. */
  readInt(buffer: Buffer): number {
    let byte = buffer[this.at++]
    let value = byte & LOW_7_BITS
    for (let shift = 7; byte >= CONTINUES; shift += 7) {
      byte = buffer[this.at++]
      value |= (byte & LOW_7_BITS) << shift
    }
    return (value >>> 1) ^ -(value & 1)
  }

  /** Reads the zigzag varint of an integer within ±2^52. */
  readLong(buffer: Buffer): number {
    let byte = buffer[this.at++]
    let value = byte & LOW_7_BITS
    let factor = 128
    while (byte >= CONTINUES) {
      byte = buffer[this.at++]
      value += (byte & LOW_7_BITS) * factor
      factor *= 128
    }
    // The lowest bit is the sign. Halving is exact, because zigzag values are below 2^53.
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}
