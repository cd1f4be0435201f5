import { z } from 'zod'

const settings = z.object({
  CLICKHOUSE_PORT: z.coerce.number().int().min(1).max(65_535),
  CLICKHOUSE_DATA: z.string().min(1),
  CLICKHOUSE_PASSWORD: z.string(),
})

export interface ClickhouseSettings {
  readonly port: number
  readonly dataDir: string
  readonly password: string
}

/** Reads the settings of the embedded ClickHouse process, which `deploy/local` provides. */
export function clickhouseSettings(env: NodeJS.ProcessEnv = process.env): ClickhouseSettings {
  const parsed = settings.parse(env)
  return { port: parsed.CLICKHOUSE_PORT, dataDir: parsed.CLICKHOUSE_DATA, password: parsed.CLICKHOUSE_PASSWORD }
}
