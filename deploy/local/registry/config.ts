import { z } from 'zod'

const settings = z
  .object({
    KAFKA_BROKERS: z.string().min(1, 'host:port of a broker'),
    REGISTRY_PORT: z.coerce.number().int().min(1).max(65_535),
  })
  .transform((env) => ({ brokers: env.KAFKA_BROKERS.split(','), port: env.REGISTRY_PORT }))

/** Reads the settings that `deploy/local` passes to the registry process. */
export function registrySettings(env: NodeJS.ProcessEnv = process.env) {
  return settings.parse(env)
}
