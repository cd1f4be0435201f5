import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { compacted, DAY_MS, erasable, erasableKept, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import type { Topic } from '../topic.ts'
import { SNIPPETS_LIMITS } from './limits.ts'
import type { BlobReferences, Snippet, SnippetCommand, SnippetRead, SnippetText, SnippetViews } from './types.ts'

/**
 * Partition count of all snippet topics. All these topics have the same count, so that the state, reads and counts of a
 * snippet have the same partition number.
 */
const SNIPPET_PARTITIONS = 4
const SNIPPET_PRODUCTION_PARTITIONS = 32

/** Requests about snippets; key: paste_id. */
export const snippetCommands: Topic<string, Command<SnippetCommand>> = commandTopic('snippet-commands', {
  value: avro('snippets/SnippetCommand'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: erasableKept,
  erases: true,
})

/** Snippets without their content, and the results of commands about them; key: paste_id. */
export const snippetDecisions: Topic<string, Decision<Snippet>> = decisionTopic('snippet-decisions', {
  value: avro('snippets/Snippet'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: { ...compacted, ...erasable },
  erases: true,
})

/** Reference counts of blobs; key: content_hash, partitioned like the snippets that refer to them. */
export const snippetBlobs: Topic<string, BlobReferences> = {
  name: 'snippet-blobs',
  key: utf8,
  value: avro('snippets/BlobReferences'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: { ...compacted, ...erasable },
  erases: true,
}

/** Views of snippets with unlimited reads, one record per view; key: paste_id. */
export const snippetReads: Topic<string, SnippetRead> = {
  name: 'snippet-reads',
  key: utf8,
  value: avro('snippets/SnippetRead'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: keptFor(DAY_MS, HOUR_MS),
}

/** Number of views of each snippet with unlimited reads; key: paste_id. */
export const snippetViewCounts: Topic<string, SnippetViews> = {
  name: 'snippet-view-counts',
  key: utf8,
  value: avro('snippets/SnippetViews'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: compacted,
}

/**
 * Snippet data for search and analysts; key: paste_id. Compacted, so that a repaired table can be filled again from the
 * newest record of each snippet.
 */
export const snippetTexts: Topic<string, SnippetText> = {
  name: 'snippet-texts',
  key: utf8,
  value: avro('snippets/SnippetText'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: { ...compacted, ...erasable },
  erases: true,
}

export const snippetsSchemas: ServiceSchemas = {
  topics: [snippetCommands, snippetDecisions, snippetBlobs, snippetReads, snippetViewCounts, snippetTexts],
  limits: SNIPPETS_LIMITS,
}
