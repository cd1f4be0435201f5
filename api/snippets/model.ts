import { z } from '@hono/zod-openapi'
import { MAX_VERSIONS } from '../../state/views/snippets/snippets.ts'

const id = z.string().openapi({ example: '8fQz03Ls' })
const timestamp = z.iso.datetime()
const visibility = z.enum(['public', 'unlisted', 'private'])

export const CreatedSnippetSchema = z
  .object({
    paste_id: id,
    url: z.url().openapi({ description: 'The HTML page.' }),
    raw_url: z.url(),
    created_at: timestamp,
    expires_at: timestamp.nullable().openapi({ description: 'null if the snippet never expires.' }),
    visibility,
    language: z.string(),
    content_size: z.int().openapi({ description: 'Size in bytes.' }),
    content_hash: z.string().openapi({ description: 'SHA-256 in hex.' }),
    burn_after_reads: z.int().nullable(),
    predecessor: id.nullable().openapi({ description: 'The previous version.' }),
  })
  .openapi('CreatedSnippet')

const Author = z
  .object({ username: z.string(), user_id: z.string() })
  .nullable()
  .openapi({ description: 'null if the author is anonymous.' })
const Version = z.object({ paste_id: id, created_at: timestamp })

/** Fields that a snippet has both in lists and as a single result. */
const listed = {
  paste_id: id,
  title: z.string().nullable(),
  language: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  visibility,
  view_count: z.int().openapi({ description: 'Number of views. A view is counted within a minute.' }),
  content_size: z.int(),
}

export const SnippetSchema = z
  .object({
    ...listed,
    content: z.string(),
    author: Author,
    content_hash: z.string(),
    reads_left: z.int().nullable().openapi({ description: 'Number of remaining reads; null if the number of reads is not limited.' }),
    predecessor: id.nullable().openapi({ description: 'The previous version, if the caller may see it.' }),
    versions: z.array(Version).openapi({
      description: `Versions that the caller may see, oldest first. They are the first version and the newest ${MAX_VERSIONS} versions. Empty if the caller may see no other version.`,
    }),
  })
  .openapi('Snippet')

export const SnippetListSchema = z
  .object({ pastes: z.array(z.object(listed).openapi('ListedSnippet')), total: z.int(), page: z.int(), limit: z.int() })
  .openapi('SnippetList')

export const DiffSchema = z
  .object({
    from: id,
    to: id,
    added: z.int().openapi({ description: 'Number of added lines.' }),
    removed: z.int().openapi({ description: 'Number of removed lines.' }),
    diff: z.string().openapi({ description: 'The differences in unified diff format, with three lines of context.' }),
  })
  .openapi('SnippetDiff')
