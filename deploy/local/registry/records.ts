/** A record of the `_schemas` topic in Confluent's format: JSON keys and values, compacted by key. */
export type SchemasRecord =
  | { readonly type: 'schema'; readonly schema: StoredSchema }
  /**
   * The highest id that was ever assigned. This record is written before tombstones, because compaction removes the ids
   * of permanently deleted versions, and an id must never be assigned twice. It has the key of NOOP records, because
   * Confluent's registry ignores the values of NOOP records.
   */
  | { readonly type: 'highest-id'; readonly id: number }
  /** A tombstone: the version was permanently deleted. */
  | { readonly type: 'schema-removed'; readonly subject: string; readonly version: number }
  /** All versions up to this version are soft-deleted. */
  | { readonly type: 'subject-deleted'; readonly subject: string; readonly version: number }
  /** An undefined subject means the global setting. An undefined level removes the setting. */
  | { readonly type: 'config'; readonly subject: string | undefined; readonly level: CompatibilityLevel | undefined }
  | { readonly type: 'mode'; readonly subject: string | undefined; readonly mode: Mode | undefined }

export interface StoredSchema {
  readonly subject: string
  readonly version: number
  readonly id: number
  /** JSON text. It is canonical if this registry wrote it. */
  readonly schema: string
  /** True if the schema is soft-deleted. Such a schema is listed only on request, but can still be read by id. */
  readonly deleted: boolean
}

export const COMPATIBILITY_LEVELS = [
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const
export type CompatibilityLevel = (typeof COMPATIBILITY_LEVELS)[number]

export const MODES = ['READWRITE', 'READONLY', 'READONLY_OVERRIDE', 'IMPORT'] as const
export type Mode = (typeof MODES)[number]

export interface EncodedRecord {
  readonly key: string
  readonly value: string | null
}

/** Encodes a record. Keys must have the property order of Confluent's registry, because compaction compares bytes. */
export function encodeRecord(record: SchemasRecord): EncodedRecord {
  switch (record.type) {
    case 'schema': {
      const { subject, version, id, schema, deleted } = record.schema
      return { key: schemaKey(subject, version), value: JSON.stringify({ subject, version, id, schema, deleted }) }
    }
    case 'highest-id':
      return { key: NOOP_KEY, value: JSON.stringify({ highestId: record.id }) }
    case 'schema-removed':
      return { key: schemaKey(record.subject, record.version), value: null }
    case 'subject-deleted': {
      const { subject, version } = record
      return { key: JSON.stringify({ keytype: 'DELETE_SUBJECT', subject, magic: 0 }), value: JSON.stringify({ subject, version }) }
    }
    case 'config': {
      const key = JSON.stringify({ keytype: 'CONFIG', subject: record.subject ?? null, magic: 0 })
      return { key, value: record.level === undefined ? null : JSON.stringify({ compatibilityLevel: record.level }) }
    }
    case 'mode': {
      const key = JSON.stringify({ keytype: 'MODE', subject: record.subject ?? null, magic: 0 })
      return { key, value: record.mode === undefined ? null : JSON.stringify({ mode: record.mode }) }
    }
  }
}

const NOOP_KEY = JSON.stringify({ keytype: 'NOOP', magic: 0 })

function schemaKey(subject: string, version: number): string {
  return JSON.stringify({ keytype: 'SCHEMA', subject, version, magic: 1 })
}

interface KeyJson {
  readonly keytype?: string
  readonly subject?: string | null
  readonly version?: number
}

/**
 * Decodes a record.
 * @returns undefined for records that this registry ignores: incomplete keys, NOOP without an id, DELETE_SUBJECT
 * without a value, and other key types
 */
export function decodeRecord({ key, value }: EncodedRecord): SchemasRecord | undefined {
  const { keytype, subject, version } = JSON.parse(key) as KeyJson
  const body = value === null ? undefined : (JSON.parse(value) as Record<string, unknown>)
  switch (keytype) {
    case 'SCHEMA':
      if (typeof subject !== 'string' || version === undefined) return undefined
      return body
        ? { type: 'schema', schema: { ...(body as unknown as StoredSchema), subject, version, deleted: body.deleted === true } }
        : { type: 'schema-removed', subject, version }
    case 'DELETE_SUBJECT':
      return body && typeof subject === 'string' ? { type: 'subject-deleted', subject, version: body.version as number } : undefined
    case 'NOOP':
      return Number.isSafeInteger(body?.highestId) ? { type: 'highest-id', id: body?.highestId as number } : undefined
    case 'CONFIG':
      return { type: 'config', subject: subject ?? undefined, level: body?.compatibilityLevel as CompatibilityLevel | undefined }
    case 'MODE':
      return { type: 'mode', subject: subject ?? undefined, mode: body?.mode as Mode | undefined }
    default:
      return undefined
  }
}
