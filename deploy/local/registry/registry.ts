import { compatibilityMessages } from './compatibility-level.ts'
import { RegistryError, schemaNotFound, subjectNotFound, versionNotFound } from './errors.ts'
import { type ReadSchema, readSchema, type SchemaInput, versionNumber } from './input.ts'
import { COMPATIBILITY_LEVELS, type CompatibilityLevel, MODES, type Mode, type SchemasRecord } from './records.ts'
import type { KnownSchema, RegistryState } from './state.ts'

/**
 * The default compatibility level, as in Confluent's registry. It assumes that consumers are upgraded before producers.
 */
const DEFAULT_LEVEL: CompatibilityLevel = 'BACKWARD'
const DEFAULT_MODE: Mode = 'READWRITE'

export interface RegistryDeps {
  readonly state: RegistryState
  /** Writes all records or throws. The state includes the records when the promise resolves. */
  write(records: readonly SchemasRecord[]): Promise<void>
  /** Runs one change at a time, so that the conditions that a change has checked are still true when it writes. */
  exclusive<T>(change: () => Promise<T>): Promise<T>
}

export type Registry = ReturnType<typeof createRegistry>

/**
 * Implements the rules of a schema registry on a state that changes only through records of the topic.
 * @returns the operations; each throws RegistryError, or rejects with it, if it refuses a request
 */
export function createRegistry({ state, write, exclusive }: RegistryDeps) {
  const live = (subject: string) => state.versions(subject).filter((stored) => !stored.deleted)

  function register(subject: string, input: SchemaInput): Promise<number> {
    const read = readSchema(input)
    const { type, text } = read
    return exclusive(async () => {
      if (subject === '') throw new RegistryError('invalidSubject', 'The subject is empty')
      const mode = effectiveMode(subject)
      // A schema that is already registered needs no change. Programs that register it at every start can therefore
      // start even while the subject is read-only.
      const present = live(subject).find((stored) => stored.identity === text && (read.id === undefined || read.id === stored.id))
      if (present && (mode !== 'IMPORT' || read.version === undefined)) return present.id
      if (mode === 'IMPORT') return importSchema(subject, read)
      requireWritable(subject, mode)
      if (read.id !== undefined) throw new RegistryError('notPermitted', `Subject ${subject} is not in import mode`)
      const messages = compatibilityMessages(subject, type, live(subject), effectiveLevel(subject))
      if (messages.length > 0) {
        throw new RegistryError(
          'incompatible',
          `Schema being registered is incompatible with an earlier schema for subject "${subject}", details: [${messages.join('; ')}]`,
        )
      }
      const version = (state.versions(subject).at(-1)?.version ?? 0) + 1
      const id = state.idOf(text) ?? state.nextId()
      await write([{ type: 'schema', schema: { subject, version, id, schema: text, deleted: false } }])
      return id
    })
  }

  /**
   * Registers a schema from another registry, under the id and version in the input. If the input lacks the id or the
   * version, it is assigned as for a new schema.
   */
  async function importSchema(subject: string, { text, ...demanded }: ReadSchema): Promise<number> {
    const id = demanded.id ?? state.idOf(text) ?? state.nextId()
    const other = state.withId(id)[0]
    if (other && other.identity !== text) throw new RegistryError('notPermitted', `Overwrite new schema with id ${id} is not permitted.`)
    const version = demanded.version ?? (state.versions(subject).at(-1)?.version ?? 0) + 1
    await write([{ type: 'schema', schema: { subject, version, id, schema: text, deleted: false } }])
    return id
  }

  /** Returns the version under which the subject has this schema. */
  function lookup(subject: string, input: SchemaInput, withDeleted: boolean): KnownSchema {
    const { text } = readSchema(input)
    const versions = withDeleted ? state.versions(subject) : live(subject)
    if (versions.length === 0) throw subjectNotFound(subject)
    const found = versions.find((stored) => stored.identity === text)
    if (!found) throw schemaNotFound()
    return found
  }

  /**
   * Returns a version of a subject.
   * @param version a number, `latest` or `-1`
   */
  function version(subject: string, version: string, withDeleted: boolean): KnownSchema {
    const versions = withDeleted ? state.versions(subject) : live(subject)
    const wanted = versionNumber(version)
    if (versions.length === 0) throw subjectNotFound(subject)
    const found = wanted === 'latest' ? versions.at(-1) : versions.find((stored) => stored.version === wanted)
    if (!found) throw versionNotFound(version)
    return found
  }

  /**
   * Returns the reasons why the schema is not compatible with the version `against`. If `against` is undefined, the
   * schema is compared with the versions that the compatibility level requires. Returns no reasons if it is compatible.
   */
  function checkCompatibility(subject: string, input: SchemaInput, against: string | undefined): string[] {
    const { type } = readSchema(input)
    const level = effectiveLevel(subject)
    if (against === undefined) return compatibilityMessages(subject, type, live(subject), level)
    return compatibilityMessages(subject, type, [version(subject, against, false)], level)
  }

  function deleteSubject(subject: string, permanent: boolean): Promise<number[]> {
    return exclusive(async () => {
      requireWritable(subject, effectiveMode(subject))
      const all = state.versions(subject)
      if (all.length === 0) throw subjectNotFound(subject)
      const alive = all.filter((stored) => !stored.deleted)
      if (permanent) {
        if (alive.length > 0) {
          throw new RegistryError('subjectNotSoftDeleted', `Subject '${subject}' was not deleted first before being permanently deleted`)
        }
        await removePermanently(all)
        return all.map((stored) => stored.version)
      }
      if (alive.length === 0) {
        throw new RegistryError('subjectSoftDeleted', `Subject '${subject}' was soft deleted. Set permanent=true to delete permanently`)
      }
      const records: SchemasRecord[] = [{ type: 'subject-deleted', subject, version: all.at(-1)!.version }]
      if (state.level(subject)) records.push({ type: 'config', subject, level: undefined })
      if (state.mode(subject)) records.push({ type: 'mode', subject, mode: undefined })
      await write(records)
      return alive.map((stored) => stored.version)
    })
  }

  function deleteVersion(subject: string, wanted: string, permanent: boolean): Promise<number> {
    return exclusive(async () => {
      requireWritable(subject, effectiveMode(subject))
      const stored = version(subject, wanted, true)
      const name = `Subject '${subject}' Version ${stored.version}`
      if (permanent) {
        if (!stored.deleted) {
          throw new RegistryError('versionNotSoftDeleted', `${name} was not deleted first before being permanently deleted`)
        }
        await removePermanently([stored])
      } else {
        if (stored.deleted) {
          throw new RegistryError('versionSoftDeleted', `${name} was soft deleted. Set permanent=true to delete permanently`)
        }
        const { identity: _, ...kept } = stored
        await write([{ type: 'schema', schema: { ...kept, deleted: true } }])
      }
      return stored.version
    })
  }

  /** Removes versions. Stores the highest id first, because compaction removes the records that contain the ids. */
  function removePermanently(versions: readonly KnownSchema[]): Promise<void> {
    const removals = versions.map(({ subject, version }) => ({ type: 'schema-removed', subject, version }) as const)
    return write([{ type: 'highest-id', id: state.nextId() - 1 }, ...removals])
  }

  function setLevel(subject: string | undefined, value: unknown): Promise<CompatibilityLevel> {
    const level = String(value).toUpperCase() as CompatibilityLevel
    if (!COMPATIBILITY_LEVELS.includes(level)) {
      throw new RegistryError('invalidCompatibility', `Invalid compatibility level. Valid values are ${COMPATIBILITY_LEVELS.join(', ')}`)
    }
    return exclusive(async () => {
      await write([{ type: 'config', subject, level }])
      return level
    })
  }

  /**
   * Removes a compatibility level. After that, a subject uses the global level, and the registry as a whole uses the
   * default.
   * @returns the level that applied until now
   */
  function removeLevel(subject: string | undefined): Promise<CompatibilityLevel> {
    return exclusive(async () => {
      const old = level(subject, false)
      await write([{ type: 'config', subject, level: undefined }])
      return old
    })
  }

  function level(subject: string | undefined, defaultToGlobal: boolean): CompatibilityLevel {
    if (subject === undefined || defaultToGlobal) return effectiveLevel(subject)
    const own = state.level(subject)
    if (!own) throw new RegistryError('subjectConfigNotFound', `Subject '${subject}' does not have subject-level compatibility configured`)
    return own
  }

  /**
   * Sets the mode of the registry or of a subject.
   * @param force allows IMPORT even if there are schemas already
   */
  function setMode(subject: string | undefined, value: unknown, force: boolean): Promise<Mode> {
    const mode = String(value).toUpperCase() as Mode
    if (!MODES.includes(mode)) throw new RegistryError('invalidMode', `Invalid mode. Valid values are ${MODES.join(', ')}`)
    return exclusive(async () => {
      const used = subject === undefined ? state.subjects().length > 0 : live(subject).length > 0
      if (mode === 'IMPORT' && used && !force) {
        throw new RegistryError('notPermitted', 'Cannot import since found existing subjects; force=true overrides this check')
      }
      await write([{ type: 'mode', subject, mode }])
      return mode
    })
  }

  function removeMode(subject: string): Promise<Mode> {
    return exclusive(async () => {
      const old = mode(subject, false)
      await write([{ type: 'mode', subject, mode: undefined }])
      return old
    })
  }

  function mode(subject: string | undefined, defaultToGlobal: boolean): Mode {
    if (subject === undefined || defaultToGlobal) return effectiveMode(subject)
    const own = state.mode(subject)
    if (!own) throw new RegistryError('subjectModeNotFound', `Subject '${subject}' does not have subject-level mode configured`)
    return own
  }

  function effectiveLevel(subject: string | undefined): CompatibilityLevel {
    return (subject === undefined ? undefined : state.level(subject)) ?? state.level(undefined) ?? DEFAULT_LEVEL
  }

  function effectiveMode(subject: string | undefined): Mode {
    const global = state.mode(undefined) ?? DEFAULT_MODE
    if (global === 'READONLY_OVERRIDE' || subject === undefined) return global
    return state.mode(subject) ?? global
  }

  return {
    register,
    lookup,
    version,
    checkCompatibility,
    deleteSubject,
    deleteVersion,
    setLevel,
    removeLevel,
    level,
    setMode,
    removeMode,
    mode,
    state,
  }
}

function requireWritable(subject: string, mode: Mode): void {
  if (mode === 'READONLY' || mode === 'READONLY_OVERRIDE')
    throw new RegistryError('notPermitted', `Subject ${subject} is in read-only mode`)
}
