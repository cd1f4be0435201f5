import { pino } from 'pino'
import { directOutput, STDOUT } from '../../../runtime/log-output.ts'
import { LOOPBACK } from '../ports.ts'
import { clickhouseSettings } from './config.ts'
import { openEngine } from './engine.ts'
import { clickhouseServer } from './server.ts'

const settings = clickhouseSettings()
const log = pino({ name: 'clickhouse' }, directOutput(STDOUT))
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
