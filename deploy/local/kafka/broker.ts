import { realpath } from 'node:fs/promises'
import type { Component } from '../component.ts'
import { isKafkaHealthy } from '../health.ts'
import { LOOPBACK } from '../ports.ts'
import { type ServerPlace, serverComponent } from '../server.ts'
import { ensureClassArchive } from './class-archive.ts'
import { ensureKafkaJars } from './jars.ts'
import { brokerCommand, formatStorage } from './java.ts'
import type { BrokerPorts } from './settings.ts'

/** Measured: 2.5 s on an idle machine; recovery after kill -9 of a large log takes longer. */
const START_TIMEOUT_MS = 90_000
const STOP_GRACE_MS = 20_000

export interface BrokerOptions extends ServerPlace {
  readonly ports: BrokerPorts
  /** Where the jars are, or are put. */
  readonly toolsDir: string
  readonly heapMb: number
  /** Options of the virtual machine beside those that every broker has. */
  readonly javaOptions?: readonly string[]
}

/** Apache Kafka as one KRaft node. */
export function kafkaBroker({ ports, dataDir, runDir, logFile, toolsDir, heapMb, javaOptions, name = 'kafka' }: BrokerOptions): Component {
  const address = `${LOOPBACK}:${ports.client}`

  async function prepare() {
    // The class archive belongs to this very path, not to a link to it.
    const jars = await realpath(await ensureKafkaJars(toolsDir))
    const archive = await ensureClassArchive(jars)
    const properties = await formatStorage({ jars, dataDir, ports, logFile, archive })
    return brokerCommand({ jars, properties, logFile, heapMb, archive, extra: javaOptions })
  }

  return serverComponent({
    name,
    address,
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
