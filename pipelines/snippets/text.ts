import type { Snippet, SnippetText } from '../../schemas/snippets/types.ts'
import { isGone } from './decide.ts'

/** Returns the part of a snippet that may appear in search and be seen by analysts. */
export function snippetText(snippet: Snippet): SnippetText {
  const { paste_id, user_id, title, language, content_size, visibility, created_at, expires_at, is_deleted, excerpt, reads_left } = snippet
  const isSearched = visibility === 'public' && reads_left === null && !isGone(snippet)
  return {
    paste_id,
    user_id,
    title: isSearched ? (title ?? '') : '',
    language,
    content_size,
    visibility,
    created_at,
    expires_at,
    is_deleted,
    text: isSearched ? excerpt : '',
  }
}
