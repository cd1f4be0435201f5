import { LINE_START, type Requirement, requirementOf } from './required.ts'

/**
 * A hash table of the grams in a text: its characters, and its pairs and triples of characters. Several grams may share
 * a slot, so a used slot does not prove that the text contains a certain gram.
 */
export type Grams = Uint8Array

/** Returns whether the pattern may match a text with these grams. If not, the pattern certainly does not match. */
export type MayMatch = (grams: Grams) => boolean

/**
 * Number of slots for each kind of gram. It is large enough to keep collisions rare, because eight thousand characters
 * of code have about three thousand different triples.
 */
const SLOTS = 32_768
const MASK = SLOTS - 1
/** Multiplier of the hash, an odd number that is larger than the codes of common characters. */
const SPREAD = 1_009
const NEW_LINE = LINE_START.charCodeAt(0)
/** Characters other than the line feed after which `^` matches in a pattern. */
const CARRIAGE_RETURN = 13
const LINE_SEPARATOR = 0x2028
const PARAGRAPH_SEPARATOR = 0x2029
const TAB = 9
const SPACE = 32

export function gramsOf(text: string): Grams {
  const grams = new Uint8Array(3 * SLOTS)
  let before = 0
  let last = NEW_LINE
  // The two previous characters, without the blanks at the beginning of the line.
  let beforeInLine = 0
  let lastInLine = NEW_LINE
  for (let at = 0; at < text.length; at++) {
    const given = text.charCodeAt(at)
    const code = given === CARRIAGE_RETURN || given === LINE_SEPARATOR || given === PARAGRAPH_SEPARATOR ? NEW_LINE : given
    grams[code & MASK] = 1
    grams[pairSlot(last, code)] = 1
    grams[tripleSlot(before, last, code)] = 1
    before = last
    last = code
    if (lastInLine === NEW_LINE && (code === SPACE || code === TAB)) continue
    if (lastInLine === NEW_LINE) grams[pairSlot(NEW_LINE, code)] = 1
    if (beforeInLine === NEW_LINE) grams[tripleSlot(NEW_LINE, lastInLine, code)] = 1
    beforeInLine = lastInLine
    lastInLine = code
  }
  return grams
}

export function mayMatch(pattern: RegExp): MayMatch {
  const groups = requirementOf(pattern).map((group) => group.map(slotsOf))
  return (grams) => groups.every((literals) => literals.some((slots) => slots.every((slot) => grams[slot] === 1)))
}

/** Returns the slots that are used in every text that contains this literal. */
function slotsOf(literal: Requirement[number][number]): number[] {
  const codes = Array.from({ length: literal.length }, (_, index) => literal.charCodeAt(index))
  if (codes.length === 1) return [codes[0] & MASK]
  if (codes.length === 2) return [pairSlot(codes[0], codes[1])]
  return codes.slice(2).map((code, index) => tripleSlot(codes[index], codes[index + 1], code))
}

function pairSlot(first: number, second: number): number {
  return SLOTS + ((first * SPREAD + second) & MASK)
}

function tripleSlot(first: number, second: number, third: number): number {
  return 2 * SLOTS + (((first * SPREAD + second) * SPREAD + third) & MASK)
}
