import type { LinkVisitors } from '../../../schemas/links/types.ts'
import { addHash, estimate, REGISTERS } from './hyperloglog.ts'

const HASH_BYTES = 8
/**
 * Maximum number of visitors that are listed individually. At this number the list is as long as the sketch that
 * replaces it.
 */
export const EXACT_VISITORS = REGISTERS / HASH_BYTES
const NONE = Buffer.alloc(0)

export function noVisitors(): LinkVisitors {
  return { hashes: NONE, registers: NONE }
}

/**
 * Adds hashes of visitors (16 hexadecimal digits each).
 * @returns whether the visitors have changed and must be stored
 */
export function addVisitors(visitors: LinkVisitors, added: ReadonlySet<string>): boolean {
  return visitors.registers.length > 0 ? addToSketch(visitors.registers, added) : addToList(visitors, added)
}

/** Returns the number of distinct visitors: exact up to EXACT_VISITORS, then with a standard error of 1.15 %. */
export function countVisitors({ hashes, registers }: LinkVisitors): { readonly count: number; readonly isExact: boolean } {
  if (registers.length === 0) return { count: hashes.length / HASH_BYTES, isExact: true }
  // A sketch is used only above the exact limit, so an estimate up to this limit is certainly too low.
  return { count: Math.max(EXACT_VISITORS + 1, estimate(registers)), isExact: false }
}

function addToSketch(registers: Buffer, added: Iterable<string>): boolean {
  let isChanged = false
  for (const hash of added) {
    const high = Number.parseInt(hash.slice(0, HASH_BYTES), 16)
    const low = Number.parseInt(hash.slice(HASH_BYTES), 16)
    if (addHash(registers, high, low)) isChanged = true
  }
  return isChanged
}

function addToList(visitors: LinkVisitors, added: ReadonlySet<string>): boolean {
  const known = new Set(hashesOf(visitors.hashes))
  const fresh = [...added].filter((hash) => !known.has(hash))
  if (fresh.length === 0) return false
  if (known.size + fresh.length <= EXACT_VISITORS) {
    visitors.hashes = Buffer.concat([visitors.hashes, ...fresh.map((hash) => Buffer.from(hash, 'hex'))])
    return true
  }
  visitors.registers = Buffer.alloc(REGISTERS)
  visitors.hashes = NONE
  addToSketch(visitors.registers, known)
  addToSketch(visitors.registers, fresh)
  return true
}

function hashesOf(bytes: Buffer): string[] {
  const digits = bytes.toString('hex')
  const hashes: string[] = []
  for (let at = 0; at < digits.length; at += 2 * HASH_BYTES) hashes.push(digits.slice(at, at + 2 * HASH_BYTES))
  return hashes
}
