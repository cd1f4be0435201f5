import { z } from 'zod'

const settings = z
  .object({
    CLICKHOUSE_PORT: z.coerce.number().int().min(1).max(65_535),
    CLICKHOUSE_DATA: z.string().min(1),
    CLICKHOUSE_PASSWORD: z.string(),
  })
  .transform((env) => ({ port: env.CLICKHOUSE_PORT, dataDir: env.CLICKHOUSE_DATA, password: env.CLICKHOUSE_PASSWORD }))

/** Reads the settings that `deploy/local` passes to the process with the embedded ClickHouse. */
export function clickhouseSettings(env: NodeJS.ProcessEnv = process.env) {
  return settings.parse(env)
}
