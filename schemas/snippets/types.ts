/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** How many snippets of a partition have a blob as their content. Store snippets-blobs and topic snippet-blobs, key: hash, partitioned as the snippets are; gone: none. */
export interface BlobReferences {
  snippets: number
}

/** A snippet without its content, which is in the blob store. One that is expired or deleted has neither its author, title and excerpt nor the addresses of its content and of other versions. Store snippets-records and view of topic snippet-decisions, key: paste_id. */
export interface Snippet {
  paste_id: string
  /** null: anonymous */
  user_id: null | bigint
  /** as it was at creation; null: anonymous */
  username: null | string
  title: null | string
  language: string
  /** bytes */
  content_size: number
  /** SHA-256 in hex: the name of the blob */
  content_hash: string
  visibility: Visibility
  /** null: never */
  expires_at: null | number
  created_at: number
  view_count: number
  /** null: as often as one likes */
  reads_left: null | number
  /** paste_id of the version that this one follows */
  predecessor: null | string
  /** paste_id of the first version; null: this is it */
  root: null | string
  /** out of every list; readers look at the time themselves */
  is_expired: boolean
  /** permanently: by its owner, by its last read, or by the cleanup after it had expired */
  is_deleted: boolean
  /** when it was found to be expired or was deleted */
  gone_at: null | number
  /** the beginning of a public content, for the search; empty in the view, and when it has expired or is deleted */
  excerpt: string
}

export type Visibility = 'public' | 'unlisted' | 'private'

/** A request that the partition of a snippet decides. Body of topic snippet-commands, key: paste_id. All ids of a user are in one partition. */
export interface SnippetCommand {
  action: SnippetAction
  /** who asks; null: anonymous */
  user_id: null | bigint
  /** create; null: nothing is made, only the answer to the same command of before is wanted */
  snippet: null | NewSnippet
}

export type SnippetAction = 'create' | 'delete' | 'read'

export interface NewSnippet {
  username: null | string
  title: null | string
  language: string
  content_size: number
  content_hash: string
  visibility: Visibility
  /** from the decision on; null: forever */
  lifetime_ms: null | number
  reads_left: null | number
  predecessor: null | string
  root: null | string
  excerpt: string
}

/** A snippet's content was sent to somebody. Topic snippet-reads, key: paste_id. */
export interface SnippetRead {
  read_at: number
}

/** What search and analysts know of a snippet; of those that are not public or have limited reads, neither title nor text. Topic snippet-texts, key: paste_id: once when it is made, once when it is deleted. */
export interface SnippetText {
  paste_id: string
  user_id: null | bigint
  title: string
  language: string
  content_size: number
  visibility: string
  created_at: number
  expires_at: null | number
  is_deleted: boolean
  /** the beginning of the content */
  text: string
}

/** How often a snippet was read so far. Topic snippet-view-counts and store snippet-views-totals, key: paste_id. */
export interface SnippetViews {
  views: number
}

declare module '../load.ts' {
  interface RecordTypes {
    'snippets/BlobReferences': BlobReferences
    'snippets/Snippet': Snippet
    'snippets/SnippetCommand': SnippetCommand
    'snippets/SnippetRead': SnippetRead
    'snippets/SnippetText': SnippetText
    'snippets/SnippetViews': SnippetViews
  }
}
