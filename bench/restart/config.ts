import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** Where the restart benchmark finds what it needs. */
export interface RestartConfig {
  readonly peersDir: string
  /** The peers' inputs. */
  readonly dataDir: string
  /** Undefined: it starts one. */
  readonly brokers: string | undefined
}

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** What a program that is started gets: this process's own environment, and what it is told. */
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
