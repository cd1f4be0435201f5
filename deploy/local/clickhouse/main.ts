import { pino } from 'pino'
import { lowerPriority } from '../../../runtime/lower-priority.ts'
import { LOOPBACK } from '../ports.ts'
import { clickhouseSettings } from './config.ts'
import { openEngine } from './engine.ts'
import { clickhouseServer } from './server.ts'

/**
 * Inserts and merges take up to a core for a while. Requests have priority over them, as over bulk workers, because few
 * requests need ClickHouse.
 */
const NICE = 10

lowerPriority(NICE)
const settings = clickhouseSettings()
const log = pino({ name: 'clickhouse' })
const engine = await openEngine(settings.dataDir)
const server = clickhouseServer(engine, settings.password)
server.listen(settings.port, LOOPBACK, () => log.info({ port: settings.port }, 'clickhouse_ready'))

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.close(async () => {
      await engine.close()
      process.exit(0)
    })
    server.closeIdleConnections()
  })
}
