import { serve } from '@hono/node-server'
import { pino } from 'pino'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { readKafkaSecurity } from '../../../kafka/config.ts'
import { directOutput, STDOUT } from '../../../runtime/log-output.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { LOOPBACK } from '../ports.ts'
import { registrySettings } from './config.ts'
import { createRegistry } from './registry.ts'
import { registryRoutes } from './routes.ts'
import { schemasTopic } from './schemas-topic.ts'
import { openStore } from './store.ts'

/** Time limits of requests to Kafka. They are shorter than the 30 s after which clients of the registry give up. */
const TIMEOUTS = { requestTimeoutMs: 5_000, deliveryTimeoutMs: 10_000 }

const settings = registrySettings()
const log = pino({ name: 'schema-registry' }, directOutput(STDOUT))
const topic = schemasTopic(
  kafkaTransport(
    { ...readKafkaSecurity(), brokers: settings.brokers, clientId: 'schema-registry', ...TIMEOUTS },
    { runtime: systemRuntime(log) },
  ),
)
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
