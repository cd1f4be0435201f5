import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import { canonicalText } from './canonical.ts'
import type { CompatibilityLevel, Mode, SchemasRecord, StoredSchema } from './records.ts'

export interface KnownSchema extends StoredSchema {
  /**
   * The canonical text of the schema, or its own text if it cannot be parsed as Avro. All texts of the same schema have
   * the same canonical text, even if another registry stored them.
   */
  readonly identity: string
}

/** The state that results from the topic's records. Only `apply` changes it, so it is the same after every restart. */
export interface RegistryState {
  apply(record: SchemasRecord): void
  /** Returns all versions in ascending order, including soft-deleted ones; empty for an unknown subject. */
  versions(subject: string): readonly KnownSchema[]
  /** Returns the subjects in alphabetical order, including those whose versions are all soft-deleted. */
  subjects(): string[]
  /** Returns every (subject, version) with this id, including soft-deleted ones. */
  withId(id: number): readonly KnownSchema[]
  /** Returns the id of the schema with this identity, regardless of its subject; undefined if there is none. */
  idOf(identity: string): number | undefined
  /** Returns an id that was never assigned, even to a schema that is now permanently deleted. */
  nextId(): number
  level(subject: string | undefined): CompatibilityLevel | undefined
  mode(subject: string | undefined): Mode | undefined
}

export function registryState(): RegistryState {
  const bySubject = new Map<string, Map<number, KnownSchema>>()
  const byId = new Map<number, Map<string, KnownSchema>>()
  const idByText = new Map<string, number>()
  const levels = new Map<string | undefined, CompatibilityLevel>()
  const modes = new Map<string | undefined, Mode>()
  let highestId = 0

  function apply(record: SchemasRecord): void {
    switch (record.type) {
      case 'schema':
        put(record.schema)
        break
      case 'highest-id':
        highestId = Math.max(highestId, record.id)
        break
      case 'schema-removed':
        remove(record.subject, record.version)
        break
      case 'subject-deleted':
        for (const stored of versions(record.subject)) if (stored.version <= record.version) put({ ...stored, deleted: true })
        break
      case 'config':
        setOrDelete(levels, record.subject, record.level)
        break
      case 'mode':
        setOrDelete(modes, record.subject, record.mode)
        break
    }
  }

  function put(stored: StoredSchema): void {
    remove(stored.subject, stored.version)
    const known = { ...stored, identity: identityOf(stored.schema) }
    entry(bySubject, stored.subject).set(stored.version, known)
    entry(byId, stored.id).set(place(stored), known)
    idByText.set(known.identity, stored.id)
    highestId = Math.max(highestId, stored.id)
  }

  function remove(subject: string, version: number): void {
    const old = bySubject.get(subject)?.get(version)
    if (!old) return
    bySubject.get(subject)!.delete(version)
    if (bySubject.get(subject)!.size === 0) bySubject.delete(subject)
    const others = byId.get(old.id)!
    others.delete(place(old))
    if (others.size > 0) return
    byId.delete(old.id)
    idByText.delete(old.identity)
  }

  function versions(subject: string): KnownSchema[] {
    return [...(bySubject.get(subject)?.values() ?? [])].sort((a, b) => a.version - b.version)
  }

  return {
    apply,
    versions,
    subjects: () => [...bySubject.keys()].sort(),
    withId: (id) => [...(byId.get(id)?.values() ?? [])],
    idOf: (identity) => idByText.get(identity),
    nextId: () => highestId + 1,
    level: (subject) => levels.get(subject),
    mode: (subject) => modes.get(subject),
  }
}

/**
 * Returns the canonical text of a stored schema, or its own text if it cannot be parsed as Avro. A topic to which
 * another registry wrote may contain such schemas.
 */
function identityOf(schema: string): string {
  try {
    return canonicalText(parseSchemaText(schema))
  } catch {
    return schema
  }
}

function place(stored: StoredSchema): string {
  return JSON.stringify([stored.subject, stored.version])
}

function entry<K, A, B>(map: Map<K, Map<A, B>>, key: K): Map<A, B> {
  let inner = map.get(key)
  if (!inner) {
    inner = new Map()
    map.set(key, inner)
  }
  return inner
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
