import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PartKind, readRunFile } from '../deploy/local/run-file.ts'
import { splitList } from '../settings/variables.ts'

/** The servers that events are sent to. */
export interface StreamTarget {
  readonly brokers: readonly string[]
  readonly registryUrl: string
}

const DEFAULT_HOME = fileURLToPath(new URL('../.millrace', import.meta.url))
const DEFAULT_BROKERS = '127.0.0.1:9092'
const DEFAULT_REGISTRY_URL = 'http://127.0.0.1:8081'
const DEFAULT_API_URL = 'http://127.0.0.1:8080'

/**
 * Returns the addresses of Kafka and the schema registry. Each address comes from the environment, the running stack,
 * or the defaults, in this order of preference. An empty variable counts as unset.
 */
export function streamTarget(env: NodeJS.ProcessEnv = process.env): StreamTarget {
  const { KAFKA_BROKERS = DEFAULT_BROKERS, SCHEMA_REGISTRY_URL: registryUrl = DEFAULT_REGISTRY_URL } = withRunningServers(env)
  return { brokers: splitList(KAFKA_BROKERS), registryUrl }
}

/** Adds the addresses of the running stack's servers to an environment that does not set them. */
export function withRunningServers(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const brokers = env.KAFKA_BROKERS || runningAddress('kafka', env)
  const registryUrl = env.SCHEMA_REGISTRY_URL || runningAddress('registry', env)
  return { ...env, KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl }
}

/** Returns the base URL of the API from the environment, the running stack, or the default. */
export function apiTarget(env: NodeJS.ProcessEnv = process.env): string {
  return (env.API_URL || runningAddress('api', env) || DEFAULT_API_URL).replace(/\/$/, '')
}

function runningAddress(kind: PartKind, env: NodeJS.ProcessEnv): string | undefined {
  const home = env.MILLRACE_HOME || DEFAULT_HOME
  return readRunFile({ run: join(home, 'run') })?.parts.find((part) => part.kind === kind)?.address
}

/** Returns the folder that holds downloaded tools. */
export function toolsFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.MILLRACE_HOME || DEFAULT_HOME, 'tools')
}
