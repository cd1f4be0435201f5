import type { CreatedSnippet } from '../../schemas/snippets/flow.ts'
import type { SnippetRecord } from '../../state/views/snippets/snippets.ts'

const iso = (time: number) => new Date(time).toISOString()
const isoOrNull = (time: number | undefined | null) => (time === undefined || time === null ? null : iso(time))

/** Returns a snippet as an element of a list. */
export function listedJson(snippet: SnippetRecord) {
  return {
    paste_id: snippet.id,
    title: snippet.title ?? null,
    language: snippet.language,
    created_at: iso(snippet.createdAt),
    expires_at: isoOrNull(snippet.expiresAt),
    visibility: snippet.visibility,
    view_count: snippet.views,
    content_size: snippet.bytes,
  }
}

/** Returns the fields of a single snippet, apart from its content. */
export function snippetJson(snippet: SnippetRecord, versions: readonly SnippetRecord[]) {
  return {
    ...listedJson(snippet),
    author: snippet.userId === undefined ? null : { username: snippet.username, user_id: snippet.userId },
    content_hash: snippet.hash,
    reads_left: snippet.readsLeft ?? null,
    predecessor: snippet.predecessor ?? null,
    versions: versions.map((version) => ({ paste_id: version.id, created_at: iso(version.createdAt) })),
  }
}

interface CreatedFields extends CreatedSnippet {
  readonly bytes: number
  readonly hash: string
  readonly readsLeft: number | null
  readonly predecessor: string | null
}

export function createdJson(made: CreatedFields, publicUrl: string) {
  const base = publicUrl.replace(/\/+$/, '')
  return {
    paste_id: made.paste_id,
    url: `${base}/p/${made.paste_id}`,
    raw_url: `${base}/api/v1/pastes/${made.paste_id}/raw`,
    created_at: iso(made.created_at),
    expires_at: isoOrNull(made.expires_at),
    visibility: made.visibility,
    language: made.language,
    content_size: made.bytes,
    content_hash: made.hash,
    burn_after_reads: made.readsLeft,
    predecessor: made.predecessor,
  }
}
