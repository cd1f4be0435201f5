import { join } from 'node:path'
import { clickhouseServerProcess } from './clickhouse/component.ts'
import { clickhousePassword } from './clickhouse/password.ts'
import type { Component } from './component.ts'
import type { LocalConfig, ServerChoice } from './config.ts'
import { healthFault } from './health.ts'
import type { Home } from './home.ts'
import { kafkaBroker } from './kafka/broker.ts'
import { redisServer } from './redis.ts'
import { schemaRegistry } from './registry/component.ts'
import { searchServer } from './search/server.ts'
import type { ServerName } from './server-names.ts'

/** A server of the stack. If it has no local component, it is external. */
export interface StackServer {
  readonly name: ServerName
  readonly address: string
  readonly local: Component | undefined
  /** The setting that names an external server. */
  readonly setting: string
}

/** Returns all servers. The chosen services determine which of them are started. */
export function stackServers(config: LocalConfig, home: Home): Record<ServerName, StackServer> {
  const place = (name: ServerName) => ({ dataDir: join(home.data, name), runDir: home.run, logFile: join(home.logs, `${name}.log`) })
  const kafka = stackServer('kafka', 'KAFKA_BROKERS', config.kafka, ({ port, controllerPort, heapMb }) =>
    kafkaBroker({ ...place('kafka'), ports: { client: port, controller: controllerPort }, heapMb, toolsDir: home.tools }),
  )
  return {
    kafka,
    redis: stackServer('redis', 'REDIS_URL', config.redis, ({ port }) => redisServer({ ...place('redis'), port })),
    clickhouse: stackServer('clickhouse', 'CLICKHOUSE_URL', config.clickhouse, ({ port }) =>
      clickhouseServerProcess({ ...place('clickhouse'), port, password: clickhousePassword(home) }),
    ),
    registry: stackServer('registry', 'SCHEMA_REGISTRY_URL', config.registry, ({ port }) =>
      schemaRegistry({ ...place('registry'), port, brokers: kafka.address }),
    ),
    search: stackServer('search', 'OPENSEARCH_URL', config.search, ({ port, heapMb }) =>
      searchServer({ ...place('search'), port, heapMb, toolsDir: home.tools }),
    ),
  }
}

function stackServer<Local>(
  name: ServerName,
  setting: string,
  choice: ServerChoice<Local>,
  component: (settings: Local) => Component,
): StackServer {
  if (choice.given !== undefined) return { name, setting, address: choice.given, local: undefined }
  const local = component(choice)
  return { name, setting, address: local.address, local }
}

/** Throws a one-line error with a remedy when an external server is not healthy. */
export async function requireGiven(server: StackServer): Promise<void> {
  const fault = await healthFault(server.name, server.address)
  if (fault === undefined) return
  throw new Error(
    `${server.name}: the server at ${withoutPassword(server.address)} is not available (${withoutPassword(fault)}). Start the server, correct its address in ${server.setting}, or unset ${server.setting} to start a local server`,
  )
}

/** Hides the users and passwords in comma-separated addresses, for display. */
export function withoutPassword(addresses: string): string {
  return addresses.replace(/\/\/[^/,]*@/g, '//…@')
}
