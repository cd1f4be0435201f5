/**
 * HyperLogLog (Flajolet and others 2007) over 64-bit hashes, estimated as Ertl does ("New cardinality estimation algorithms for HyperLogLog
 * sketches", 2017, algorithm 6): no bias tables, one formula from zero to the end. 8,192 registers of one byte: standard error
 * 1.04 / sqrt(8192) = 1.15 %.
 */
export const REGISTERS = 8_192

const INDEX_BITS = 13
/** Bits of a hash behind the register's number. */
const RANK_BITS = 64 - INDEX_BITS
/** Greatest value of a register: no bit set behind its number. */
const MAX_RANK = RANK_BITS + 1
const HIGH_REST_BITS = 32 - INDEX_BITS
const HIGH_REST_MASK = (1 << HIGH_REST_BITS) - 1
/** Of infinitely many registers. */
const ALPHA = 0.5 / Math.LN2

/**
 * @param high upper 32 bits of the hash
 * @param low lower 32 bits
 * @returns true when a register has changed
 */
export function addHash(registers: Buffer, high: number, low: number): boolean {
  const register = high >>> HIGH_REST_BITS
  const rest = high & HIGH_REST_MASK
  const rank = rest === 0 ? HIGH_REST_BITS + Math.clz32(low) + 1 : Math.clz32(rest) - INDEX_BITS + 1
  if (registers[register] >= rank) return false
  registers[register] = rank
  return true
}

/** How many different hashes were added. */
export function estimate(registers: Buffer): number {
  const multiplicity = new Uint32Array(MAX_RANK + 1)
  for (const rank of registers) multiplicity[rank]++
  const m = registers.length
  let z = m * tau(1 - multiplicity[MAX_RANK] / m)
  for (let rank = RANK_BITS; rank >= 1; rank--) z = 0.5 * (z + multiplicity[rank])
  z += m * sigma(multiplicity[0] / m)
  return Math.round((ALPHA * m * m) / z)
}

/** x + x^2 + 2 x^4 + 4 x^8 + … until it no longer changes. */
function sigma(start: number): number {
  if (start === 1) return Infinity
  let x = start
  let y = 1
  let z = x
  for (;;) {
    x *= x
    const before = z
    z += x * y
    y += y
    if (z === before) return z
  }
}

function tau(start: number): number {
  if (start === 0 || start === 1) return 0
  let x = start
  let y = 1
  let z = 1 - x
  for (;;) {
    x = Math.sqrt(x)
    const before = z
    y *= 0.5
    z -= (1 - x) ** 2 * y
    if (z === before) return z / 3
  }
}
