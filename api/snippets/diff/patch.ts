import { formatPatch, structuredPatch } from 'diff'

export interface PatchRequest {
  /** The names of the two texts in the patch. */
  readonly from: string
  readonly to: string
  readonly before: string
  readonly after: string
}

export interface Patch {
  readonly added: number
  readonly removed: number
  /** The difference in unified format. */
  readonly diff: string
}

/** Maximum number of differing lines. The running time of Myers' algorithm grows with the square of this number. */
const MAX_EDITS = 5_000
const MAX_COMPARE_MS = 250
const CONTEXT_LINES = 3

/**
 * Computes the patch that turns the text `before` into the text `after`.
 * @returns null if the texts differ too much, or if the comparison takes longer than MAX_COMPARE_MS
 */
export function patchOf({ from, to, before, after }: PatchRequest): Patch | null {
  const bounds = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS, timeout: MAX_COMPARE_MS }
  const patch = structuredPatch(from, to, before, after, undefined, undefined, bounds)
  if (patch === undefined) return null
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  const added = lines.filter((line) => line.startsWith('+')).length
  const removed = lines.filter((line) => line.startsWith('-')).length
  return { added, removed, diff: formatPatch(patch) }
}
