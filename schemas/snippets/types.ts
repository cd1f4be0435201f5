/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** How many snippets of one partition have the blob as their content. Value of topic `snippet-blobs` and of store `blobs` of topology `snippets`, key: hash of the blob, partitioned like the snippets. If the number is 0, the store has no row, and the topic has a tombstone. */
export interface BlobReferences {
  snippets: number
}

/** A snippet without its content, which is in the blob store. After the snippet has expired or been deleted, it has no author, title, excerpt, content hash or ids of other versions. Value of store `records` of topology `snippets` and view of topic `snippet-decisions`, key: paste_id. */
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
  /** paste_id of the version that this one follows; null: none */
  predecessor: null | string
  /** paste_id of the first version; null: this is the first version */
  root: null | string
  /** true: the snippet has expired and is no longer in lists. Readers must also compare expires_at with the time */
  is_expired: boolean
  /** true: deleted permanently by its owner, by its last read, or by the cleanup after it had expired */
  is_deleted: boolean
  /** when the snippet was deleted, or when its expiry was noticed */
  gone_at: null | number
  /** beginning of the content, for the search, if the snippet is public, has unlimited reads and can still be read; otherwise empty. Always empty in the view */
  excerpt: string
}

export type Visibility = 'public' | 'unlisted' | 'private'

/** A request to create, delete or read a snippet. Body of topic snippet-commands, key: paste_id. The ids of all snippets of a user belong to the same partition. */
export interface SnippetCommand {
  action: SnippetAction
  /** the caller; null: anonymous */
  user_id: null | bigint
  /** create: the new snippet, or null if the command only asks for the answer to an earlier command with the same id; otherwise null */
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
  /** time from the creation to the expiry, in ms; null: the snippet never expires */
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

/** The data of a snippet for search and analysts. Title and text are empty unless the snippet is public, has unlimited reads and can still be read. Topic snippet-texts, key: paste_id, with one record when a snippet is created, one when it expires, and one when it is deleted. */
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

/** Number of views so far of a snippet with unlimited reads. Value of topic `snippet-view-counts` and of store `totals` of topology `snippet-views`, key: paste_id. */
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
