import type { LoadedSchemas } from '../../../kafka/serdes.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { missingSchemas } from '../missing-schemas.ts'

/** Loads schemas, and keeps track of the schemas that are being loaded or that the registry does not have. */
export interface SchemaWaits {
  /**
   * Loads a schema. Repeats the request with growing delays until the registry answers. Rejects when the worker stops.
   */
  load(schemaId: number): Promise<'loaded' | 'not-found'>
  /** Loads the schema in the background and wakes the worker when the answer arrives. */
  waitFor(schemaId: number): void
  isWaiting(schemaId: number): boolean
  /** Returns true for a while after the registry answered that it does not have this schema. */
  isMissing(schemaId: number): boolean
  /** For each schema that is still being loaded, the reason why the last attempt failed. The key is the schema id. */
  readonly failures: ReadonlyMap<number, string>
  /** Number of failed attempts so far. */
  readonly failedAttempts: number
}

/**
 * First delay before the request to an unreachable registry is repeated. The delays grow. In the meantime the records
 * wait, and no record is dropped.
 */
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 15_000

export interface SchemaWaitDeps {
  readonly schemas: LoadedSchemas
  readonly runtime: Runtime
  /** Fires when the worker stops. */
  readonly stopping: AbortSignal
  readonly wake: () => void
}

export function schemaWaits({ schemas, runtime, stopping, wake }: SchemaWaitDeps): SchemaWaits {
  const loading = new Set<number>()
  const missing = missingSchemas(runtime.monotonic)
  const failures = new Map<number, string>()
  let failedAttempts = 0

  async function load(schemaId: number): Promise<'loaded' | 'not-found'> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LONGEST_RETRY_MS)) {
      try {
        const found = await schemas.load(schemaId)
        failures.delete(schemaId)
        return found
      } catch (error) {
        failedAttempts++
        failures.set(schemaId, (error as Error).message)
        runtime.log.warn({ err: error, schema_id: schemaId, retry_ms: wait }, 'schema_not_loaded')
        await runtime.sleep(wait, stopping)
        stopping.throwIfAborted()
      }
    }
  }

  return {
    load,
    failures,
    get failedAttempts() {
      return failedAttempts
    },
    waitFor(schemaId) {
      if (loading.has(schemaId)) return
      loading.add(schemaId)
      load(schemaId)
        .then((found) => {
          if (found === 'not-found') missing.add(schemaId)
        })
        .catch(() => {}) // The wait ended because the worker stops.
        .finally(() => {
          loading.delete(schemaId)
          wake()
        })
    },
    isWaiting: (schemaId) => loading.has(schemaId),
    isMissing: missing.has,
  }
}
