import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readRunFile } from '../deploy/local/run-file.ts'

/** The servers that events are sent to. */
export interface StreamTarget {
  readonly brokers: readonly string[]
  readonly registryUrl: string
}

const DEFAULT_HOME = fileURLToPath(new URL('../.millrace', import.meta.url))
const DEFAULT_BROKERS = '127.0.0.1:9092'
const DEFAULT_REGISTRY_URL = 'http://127.0.0.1:8081'

/** Returns the addresses from the environment; otherwise those of the running stack; otherwise the default ones. */
export function streamTarget(env: NodeJS.ProcessEnv = process.env): StreamTarget {
  const home = env.MILLRACE_HOME ?? DEFAULT_HOME
  const parts = readRunFile({ run: join(home, 'run') })?.parts ?? []
  const addressOf = (kind: string) => parts.find((part) => part.kind === kind)?.address
  const brokers = env.KAFKA_BROKERS ?? addressOf('kafka') ?? DEFAULT_BROKERS
  return { brokers: brokers.split(','), registryUrl: env.SCHEMA_REGISTRY_URL ?? addressOf('registry') ?? DEFAULT_REGISTRY_URL }
}
