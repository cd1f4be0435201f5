import { createHash } from 'node:crypto'

/**
 * An index of a search server, filled from one topic. Its name is an alias, which refers to at most one concrete index
 * (`<name>-<number>`), and never to an incomplete one.
 *
 * Each concrete index also contains one small document for each partition of the topic, with the sink's position in the
 * partition. Queries must therefore filter by a field that every normal document has and position documents lack.
 */
export interface Index<K, V> {
  readonly name: string
  /**
   * `settings.index` of the concrete index, such as analyzers. `IndexLayout` overrides the numbers of shards and
   * replicas.
   */
  readonly settings: Readonly<Record<string, unknown>>
  /** `mappings` of the concrete index. A document with a field that is not in `properties` is refused. */
  readonly mappings: IndexMappings
  /**
   * Increase the version when `documentOf` returns a different document for the same record. As with a change to
   * settings or mappings, searches then keep using the old index until a new one is filled.
   */
  readonly version: number
  /** Returns the document of a record, as JSON; null if the record has no document. */
  documentOf(key: K, value: V): object | null
}

export interface IndexMappings {
  readonly properties: Readonly<Record<string, unknown>>
  readonly _source?: { readonly excludes: readonly string[] }
}

/** The properties of an index that determine the form of its documents. */
export type IndexForm = Pick<Index<never, never>, 'settings' | 'mappings' | 'version'>

/** Name of the field that contains a position. Its content is stored but not indexed. */
export const POSITION_FIELD = 'sink_position'

const HASH_CHARACTERS = 16

/** Returns a hash of everything that determines the form of an index's documents. */
export function definitionOf({ settings, mappings, version }: IndexForm): string {
  return createHash('sha256').update(JSON.stringify({ settings, mappings, version })).digest('hex').slice(0, HASH_CHARACTERS)
}
