import { z } from 'zod'

const settings = z.object({
  KAFKA_BROKERS: z.string().min(1, 'host:port of a broker'),
  REGISTRY_PORT: z.coerce.number().int().min(1).max(65_535),
})

export interface RegistrySettings {
  readonly brokers: string[]
  readonly port: number
}

/** The settings of the registry process, which `deploy/local` provides. */
export function registrySettings(env: NodeJS.ProcessEnv = process.env): RegistrySettings {
  const parsed = settings.parse(env)
  return { brokers: parsed.KAFKA_BROKERS.split(','), port: parsed.REGISTRY_PORT }
}
