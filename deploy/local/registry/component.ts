import { fileURLToPath } from 'node:url'
import type { Component } from '../component.ts'
import { answersOk } from '../health.ts'
import { LOOPBACK } from '../ports.ts'
import { type ServerPlace, serverComponent } from '../server.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const START_TIMEOUT_MS = 30_000
const STOP_GRACE_MS = 5_000
/**
 * Heap limit of the process. The registry keeps about 200 schemas in memory, and every worker that starts registers its
 * schemas again. Without a limit, Node would collect garbage too rarely.
 */
const HEAP_MB = 128

export interface RegistryOptions extends ServerPlace {
  readonly port: number
  readonly brokers: string
}

/**
 * Describes the schema registry as a separate process. It stores nothing on disk, because the `_schemas` topic is its
 * storage.
 */
export function schemaRegistry(options: RegistryOptions): Component {
  const address = `http://${LOOPBACK}:${options.port}`
  return serverComponent({
    name: 'registry',
    ...options,
    address,
    // A registry that an earlier run started for other brokers is not reused.
    fingerprint: `${address} ${options.brokers}`,
    ports: { SCHEMA_REGISTRY_PORT: options.port },
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare: async () => ({
      command: process.execPath,
      args: [`--max-old-space-size=${HEAP_MB}`, MAIN],
      env: { KAFKA_BROKERS: options.brokers, REGISTRY_PORT: String(options.port) },
    }),
    isHealthy: () => answersOk(address, '/subjects'),
  })
}
