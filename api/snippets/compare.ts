import { formatPatch, structuredPatch } from 'diff'
import type { BlobStore } from '../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../state/views/snippets.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import { ApiError } from '../kit/errors.ts'
import { snippetErrors } from './errors.ts'
import { openContent, wholeContent } from './stored-content.ts'

/** Both contents and their difference are in memory at once. */
const MAX_COMPARED_BYTES = 1_048_576
/** Lines that differ. Myers' algorithm takes time by the square of them. */
const MAX_EDITS = 5_000
/** The comparison holds up every other request of the process. */
const MAX_COMPARE_MS = 250
const CONTEXT_LINES = 3

/** The difference of two snippets that the caller may read. Throws ApiError `not_comparable`. */
export async function compareSnippets(blobs: BlobStore, from: SnippetRecord, to: SnippetRecord): Promise<Answer> {
  // A comparison would be a read that nobody counts.
  const burns = from.readsLeft !== undefined || to.readsLeft !== undefined
  if (burns || Math.max(from.bytes, to.bytes) > MAX_COMPARED_BYTES) throw new ApiError(snippetErrors.not_comparable)
  const [before, after] = await Promise.all([textOf(blobs, from), textOf(blobs, to)])
  const bounds = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS, timeout: MAX_COMPARE_MS }
  const patch = structuredPatch(from.id, to.id, before, after, undefined, undefined, bounds)
  if (patch === undefined) throw new ApiError(snippetErrors.not_comparable)
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  const added = lines.filter((line) => line.startsWith('+')).length
  const removed = lines.filter((line) => line.startsWith('-')).length
  const diff = formatPatch(patch)
  return jsonAnswer(200, { from: from.id, to: to.id, added, removed, diff }, { 'Cache-Control': 'private, no-store' })
}

async function textOf(blobs: BlobStore, snippet: SnippetRecord): Promise<string> {
  return (await wholeContent(await openContent(blobs, snippet))).toString()
}
