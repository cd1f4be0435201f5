import { serve } from '@hono/node-server'
import { pino } from 'pino'
import { LOOPBACK } from '../ports.ts'
import { registrySettings } from './config.ts'
import { createRegistry } from './registry.ts'
import { registryRoutes } from './routes.ts'
import { schemasTopic } from './schemas-topic.ts'
import { openStore } from './store.ts'

const settings = registrySettings()
const log = pino({ name: 'schema-registry' })
const topic = schemasTopic(settings.brokers)
const store = await openStore(topic)
const server = serve({ fetch: registryRoutes(createRegistry(store)).fetch, port: settings.port, hostname: LOOPBACK }, () =>
  log.info({ port: settings.port, subjects: store.state.subjects().length }, 'registry_ready'),
)

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.close(async () => {
      await topic.close()
      process.exit(0)
    })
  })
}
