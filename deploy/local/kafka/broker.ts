import type { Component } from '../component.ts'
import { isKafkaHealthy } from '../health.ts'
import { LOOPBACK } from '../ports.ts'
import { type ServerPlace, serverComponent } from '../server.ts'
import { brokerCommand, formatStorage } from './java.ts'
import { ensureBrokerProgram } from './program.ts'
import type { BrokerPorts, BrokerSettings } from './settings.ts'

/**
 * Time limit for starting. Starting takes 2.5 s on an idle machine, but recovering a large log after kill -9 takes
 * longer.
 */
const START_TIMEOUT_MS = 90_000
const STOP_GRACE_MS = 20_000

export interface BrokerOptions extends ServerPlace {
  readonly ports: BrokerPorts
  /** Folder into which missing jars are downloaded. */
  readonly toolsDir: string
  readonly heapMb: number
  /** JVM options in addition to the default ones. */
  readonly javaOptions?: readonly string[]
  /** Broker settings that extend or override the settings that all brokers of the stack have. */
  readonly settings?: BrokerSettings
}

/** Describes Apache Kafka as a single KRaft node. */
export function kafkaBroker(options: BrokerOptions): Component {
  const { ports, dataDir, runDir, logFile, toolsDir, heapMb, javaOptions, settings, name = 'kafka' } = options
  const address = `${LOOPBACK}:${ports.client}`

  async function prepare() {
    const { jars, archive } = await ensureBrokerProgram(toolsDir)
    const properties = await formatStorage({ jars, dataDir, ports, logFile, settings, archive })
    return brokerCommand({ jars, properties, logFile, heapMb, archive, extra: javaOptions })
  }

  return serverComponent({
    name,
    address,
    // A broker that an earlier run started with other ports, options or settings is not reused.
    fingerprint: JSON.stringify([address, ports.controller, heapMb, javaOptions, settings]),
    ports: { KAFKA_PORT: ports.client, KAFKA_CONTROLLER_PORT: ports.controller },
    dataDir,
    logFile,
    runDir,
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare,
    isHealthy: () => isKafkaHealthy(address),
  })
}
