import type { SnippetRecord } from '../../../state/views/snippets/snippets.ts'
import { type Answer, jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { snippetErrors } from '../errors.ts'
import { type Contents, openContent, wholeContent } from '../stored-content.ts'
import type { Comparer } from './comparer.ts'

/**
 * Maximum size of each content. It is limited, because both contents and their difference are in memory at the same
 * time.
 */
const MAX_COMPARED_BYTES = 1_048_576

export interface CompareDeps {
  readonly contents: Contents
  readonly comparer: Comparer
}

export interface Comparison {
  readonly from: SnippetRecord
  readonly to: SnippetRecord
  /** The reader's address. */
  readonly address: string
}

/** Compares two snippets that the caller may read. Throws ApiError: `not_comparable`, `unavailable`. */
export async function compareSnippets({ contents, comparer }: CompareDeps, { from, to, address }: Comparison): Promise<Answer> {
  // Snippets with limited reads cannot be compared, because a comparison would be a read that is not counted.
  const burns = from.readsLeft !== undefined || to.readsLeft !== undefined
  if (burns || Math.max(from.bytes, to.bytes) > MAX_COMPARED_BYTES) throw new ApiError(snippetErrors.not_comparable)
  // The contents are opened sequentially, so that a comparison needs only one slot at a time. Two comparisons that each
  // held one slot and waited for a second one could deadlock.
  const before = await textOf(contents, from, address)
  const after = await textOf(contents, to, address)
  const patch = await comparer.ask({ from: from.id, to: to.id, before, after })
  if (patch === undefined) throw new ApiError(errors.unavailable, { message: 'The comparison cannot run now. Try again shortly.' })
  if (patch === null) throw new ApiError(snippetErrors.not_comparable)
  return jsonAnswer(200, { from: from.id, to: to.id, ...patch }, PRIVATE)
}

async function textOf(contents: Contents, snippet: SnippetRecord, address: string): Promise<string> {
  return (await wholeContent(await openContent(contents, snippet, address))).toString()
}
