import type { BlobStore } from '../../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../../state/views/snippets.ts'
import { type Answer, jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { snippetErrors } from '../errors.ts'
import { openContent, wholeContent } from '../stored-content.ts'
import type { Comparer } from './comparer.ts'

/** Both contents and their difference are in memory at once. */
const MAX_COMPARED_BYTES = 1_048_576

export interface CompareDeps {
  readonly blobs: BlobStore
  readonly comparer: Comparer
}

/** The difference of two snippets that the caller may read. Throws ApiError: `not_comparable`, `unavailable`. */
export async function compareSnippets({ blobs, comparer }: CompareDeps, from: SnippetRecord, to: SnippetRecord): Promise<Answer> {
  // A comparison would be a read that nobody counts.
  const burns = from.readsLeft !== undefined || to.readsLeft !== undefined
  if (burns || Math.max(from.bytes, to.bytes) > MAX_COMPARED_BYTES) throw new ApiError(snippetErrors.not_comparable)
  const [before, after] = await Promise.all([textOf(blobs, from), textOf(blobs, to)])
  const patch = await comparer.ask({ from: from.id, to: to.id, before, after })
  if (patch === undefined) throw new ApiError(errors.unavailable, { message: 'Too many are comparing: try again shortly.' })
  if (patch === null) throw new ApiError(snippetErrors.not_comparable)
  return jsonAnswer(200, { from: from.id, to: to.id, ...patch }, { 'Cache-Control': 'private, no-store' })
}

async function textOf(blobs: BlobStore, snippet: SnippetRecord): Promise<string> {
  return (await wholeContent(await openContent(blobs, snippet))).toString()
}
