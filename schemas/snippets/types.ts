/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** The number of snippets of one partition whose content is the blob. Store snippets-blobs and topic snippet-blobs, key: hash of the blob, partitioned like the snippets. There is no record if the number is 0. */
export interface BlobReferences {
  snippets: number
}

/** A snippet without its content, which is in the blob store. After it has expired or was deleted, the record has no author, title, excerpt, content hash or ids of other versions. Store snippets-records and view of topic snippet-decisions, key: paste_id. */
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
  /** null: unlimited */
  reads_left: null | number
  /** paste_id of the version that this one follows */
  predecessor: null | string
  /** paste_id of the first version; null: this is the first version */
  root: null | string
  /** true if it has expired and was removed from the lists. Readers also compare expires_at with the time */
  is_expired: boolean
  /** true: deleted permanently by its owner, by its last read, or by the cleanup after it had expired */
  is_deleted: boolean
  /** when it was found to be expired or was deleted */
  gone_at: null | number
  /** beginning of the content, for the search; empty unless the snippet is public with unlimited reads. Also empty in the view, and after the snippet has expired or was deleted */
  excerpt: string
}

export type Visibility = 'public' | 'unlisted' | 'private'

/** A request that the partition of a snippet decides. Body of topic snippet-commands, key: paste_id. All ids of a user are in one partition. */
export interface SnippetCommand {
  action: SnippetAction
  /** the caller; null: anonymous */
  user_id: null | bigint
  /** create: the new snippet; null: creates nothing, but returns the answer to an earlier command with the same id */
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

/** One view of a snippet with unlimited reads. Topic snippet-reads, key: paste_id. */
export interface SnippetRead {
  read_at: number
}

/** The data of a snippet for search and analysts. Title and text are empty unless the snippet is public, has unlimited reads and can still be read. Topic snippet-texts, key: paste_id: one record when it is created, one when it expires, and one when it is deleted. */
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

/** Number of views of a snippet so far. Topic snippet-view-counts and store snippet-views-totals, key: paste_id. */
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
