import type { LoadedSchemas } from '../../../kafka/serdes.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { missingSchemas } from '../missing-schemas.ts'

/** Keeps track of tasks that wait for the schema of their next record. */
export interface SchemaWaits {
  /** Loads the schema in the background and wakes the worker when the answer arrives. */
  waitFor(schemaId: number): void
  isWaiting(schemaId: number): boolean
  /** True for a while after the registry answered that it has no such schema. */
  isMissing(schemaId: number): boolean
}

/**
 * First delay before an unreachable registry is asked again; later delays grow. In the meantime records wait, and none
 * is dropped.
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

  async function load(schemaId: number): Promise<void> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LONGEST_RETRY_MS)) {
      try {
        if ((await schemas.load(schemaId)) === 'not-found') missing.add(schemaId)
        return
      } catch (error) {
        runtime.log.warn({ err: error, schema_id: schemaId, retry_ms: wait }, 'schema_not_loaded')
        await runtime.sleep(wait, stopping)
        stopping.throwIfAborted()
      }
    }
  }

  return {
    waitFor(schemaId) {
      if (loading.has(schemaId)) return
      loading.add(schemaId)
      load(schemaId)
        .catch(() => {}) // The wait was ended because the worker stops.
        .finally(() => {
          loading.delete(schemaId)
          wake()
        })
    },
    isWaiting: (schemaId) => loading.has(schemaId),
    isMissing: missing.has,
  }
}
