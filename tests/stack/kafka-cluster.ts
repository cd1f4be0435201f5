import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Component } from '../../deploy/local/component.ts'
import { isKafkaHealthy } from '../../deploy/local/health.ts'
import { kafkaBroker } from '../../deploy/local/kafka/broker.ts'
import { ensureKafkaJars } from '../../deploy/local/kafka/jars.ts'
import { brokerCommand } from '../../deploy/local/kafka/java.ts'
import { type BrokerSettings, brokerProperties } from '../../deploy/local/kafka/settings.ts'
import { freePort, LOOPBACK } from '../../deploy/local/ports.ts'
import { serverComponent } from '../../deploy/local/server.ts'
import { TEST_HEAP_MB, TEST_JAVA_OPTIONS, TOOLS } from './servers.ts'

const run = promisify(execFile)
const START_TIMEOUT_MS = 120_000
const STOP_GRACE_MS = 20_000

export interface KafkaCluster {
  /** Broker 1, which is also the controller. */
  readonly first: Component
  /** Brokers 2, 3 and so on. Start them after broker 1. */
  readonly others: readonly Component[]
}

/**
 * Creates a cluster of brokers without starting them. Partitions and coordinators can move between these brokers.
 * @param settings configuration of each broker in addition to the default
 */
export async function newKafkaCluster(folder: string, brokers: number, settings: BrokerSettings = {}): Promise<KafkaCluster> {
  const ports = { client: await freePort(), controller: await freePort() }
  const runDir = join(folder, 'run')
  const data = (name: string) => join(folder, name)
  const log = (name: string) => join(folder, `${name}.log`)
  const first = kafkaBroker({
    name: 'kafka',
    ports,
    dataDir: data('kafka'),
    runDir,
    logFile: log('kafka'),
    toolsDir: TOOLS,
    heapMb: TEST_HEAP_MB,
    javaOptions: TEST_JAVA_OPTIONS,
    settings,
  })
  const others: Component[] = []
  for (let node = 2; node <= brokers; node++) others.push(otherBroker(node, await freePort()))
  return { first, others }

  function otherBroker(node: number, port: number): Component {
    const name = `kafka-${node}`
    const address = `${LOOPBACK}:${port}`
    return serverComponent({
      name,
      address,
      ports: { KAFKA_PORT: port },
      dataDir: data(name),
      logFile: log(name),
      runDir,
      startTimeoutMs: START_TIMEOUT_MS,
      stopGraceMs: STOP_GRACE_MS,
      prepare: () => prepare(node, port),
      isHealthy: () => isKafkaHealthy(address),
    })
  }

  async function prepare(node: number, port: number) {
    const name = `kafka-${node}`
    const [dataDir, logFile] = [data(name), log(name)]
    const jars = await realpath(await ensureKafkaJars(TOOLS))
    const properties = join(dataDir, 'server.properties')
    await writeFile(properties, otherProperties(brokerProperties(dataDir, ports, settings), node, port))
    const stamp = join(dataDir, 'formatted')
    if (!existsSync(stamp)) {
      // The first broker's stamp contains the cluster id.
      const clusterId = (await readFile(join(data('kafka'), 'formatted'), 'utf8')).trim()
      await mkdir(join(dataDir, 'logs'), { recursive: true })
      await run('java', [
        ...TEST_JAVA_OPTIONS,
        '-cp',
        join(jars, '*'),
        'kafka.tools.StorageTool',
        'format',
        '-t',
        clusterId,
        '-c',
        properties,
      ])
      await writeFile(stamp, clusterId)
    }
    return brokerCommand({ jars, properties, logFile, heapMb: TEST_HEAP_MB, extra: TEST_JAVA_OPTIONS })
  }
}

/**
 * Returns the configuration of another node. The node is only a broker, and not a controller like the first node.
 * @param properties the properties of the first node, but with the data folder of the new node
 */
function otherProperties(properties: string, node: number, port: number): string {
  const own = new Map([
    ['process.roles', 'broker'],
    ['node.id', String(node)],
    ['listeners', `PLAINTEXT://${LOOPBACK}:${port}`],
    ['advertised.listeners', `PLAINTEXT://${LOOPBACK}:${port}`],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
  ])
  const shared = properties.split('\n').filter((line) => line !== '' && !own.has(line.slice(0, line.indexOf('='))))
  return [...shared, ...[...own].map(([key, value]) => `${key}=${value}`), ''].join('\n')
}
