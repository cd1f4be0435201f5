import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** Locations that the restart benchmark needs. */
export interface RestartConfig {
  readonly peersDir: string
  /** Folder of the public data sets. */
  readonly dataDir: string
  /** host:port of an external broker; if undefined, the benchmark starts a broker. */
  readonly brokers: string | undefined
}

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Returns the environment of a child process: the environment of this process with the given settings added. */
export function childEnvironment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings }
}

export function restartConfig(env: NodeJS.ProcessEnv = process.env): RestartConfig {
  const given = z
    .object({
      MILLRACE_DATA: z.string().default(inRepository('../shared/data')),
      PEERS_DIR: z.string().default(inRepository('../shared/peers')),
      KAFKA_BROKERS: z.string().optional(),
    })
    .parse(env)
  return { peersDir: given.PEERS_DIR, dataDir: given.MILLRACE_DATA, brokers: given.KAFKA_BROKERS }
}
