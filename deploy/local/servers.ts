import { join } from 'node:path'
import { clickhouseServerProcess } from './clickhouse/component.ts'
import { clickhousePassword } from './clickhouse/password.ts'
import type { Component } from './component.ts'
import type { LocalConfig } from './config.ts'
import { isHealthy } from './health.ts'
import type { Home } from './home.ts'
import { kafkaBroker } from './kafka/broker.ts'
import { redisServer } from './redis.ts'
import { schemaRegistry } from './registry/component.ts'

export type ServerName = 'kafka' | 'redis' | 'clickhouse' | 'registry'

/** A server of the stack that is either started here or provided externally. */
export type StackServer =
  | { readonly name: ServerName; readonly address: string; readonly local: Component; readonly setting: string }
  | { readonly name: ServerName; readonly address: string; readonly local: undefined; readonly setting: string }

/** The four servers in their start order. */
export function stackServers(config: LocalConfig, home: Home): Record<ServerName, StackServer> {
  const place = (name: ServerName) => ({ dataDir: join(home.data, name), runDir: home.run, logFile: join(home.logs, `${name}.log`) })
  const { kafka, redis, clickhouse, registry } = config

  const broker =
    kafka.given === undefined
      ? local(
          'kafka',
          'KAFKA_BROKERS',
          kafkaBroker({
            ...place('kafka'),
            ports: { client: kafka.port, controller: kafka.controllerPort },
            heapMb: kafka.heapMb,
            toolsDir: home.tools,
          }),
        )
      : given('kafka', 'KAFKA_BROKERS', kafka.given)
  return {
    kafka: broker,
    redis:
      redis.given === undefined
        ? local('redis', 'REDIS_URL', redisServer({ ...place('redis'), port: redis.port }))
        : given('redis', 'REDIS_URL', redis.given),
    clickhouse:
      clickhouse.given === undefined
        ? local(
            'clickhouse',
            'CLICKHOUSE_URL',
            clickhouseServerProcess({ ...place('clickhouse'), port: clickhouse.port, password: clickhousePassword(home) }),
          )
        : given('clickhouse', 'CLICKHOUSE_URL', clickhouse.given),
    registry:
      registry.given === undefined
        ? local('registry', 'SCHEMA_REGISTRY_URL', schemaRegistry({ ...place('registry'), port: registry.port, brokers: broker.address }))
        : given('registry', 'SCHEMA_REGISTRY_URL', registry.given),
  }
}

function local(name: ServerName, setting: string, component: Component): StackServer {
  return { name, setting, address: component.address, local: component }
}

function given(name: ServerName, setting: string, address: string): StackServer {
  return { name, setting, address, local: undefined }
}

/** Throws a one-line error with a remedy when an external server does not respond. */
export async function requireGiven(server: StackServer): Promise<void> {
  if (await isHealthy(server.name, server.address)) return
  throw new Error(
    `${server.name}: no response from ${withoutPassword(server.address)}, the value of ${server.setting}. Start it, or unset ${server.setting} to start a local one`,
  )
}

/** An address without its password, for display. */
export function withoutPassword(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//…@')
}
