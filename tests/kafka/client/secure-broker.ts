import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brokerCommand } from '../../../deploy/local/kafka/java.ts'
import { ensureBrokerProgram } from '../../../deploy/local/kafka/program.ts'
import { brokerProperties } from '../../../deploy/local/kafka/settings.ts'
import { accepts, freePort } from '../../../deploy/local/ports.ts'
import { serverComponent } from '../../../deploy/local/server.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { TEST_HEAP_MB, TEST_JAVA_OPTIONS, TOOLS } from '../../stack/servers.ts'

const run = promisify(execFile)
const START_TIMEOUT_MS = 90_000
const STOP_GRACE_MS = 10_000
const STORE_PASSWORD = 'changeit'

export interface SecureBroker {
  /** `localhost` and the port. The certificate names `localhost` and 127.0.0.1. */
  readonly address: string
  readonly port: number
  readonly certificate: string
  readonly users: Readonly<Record<'plain' | 'scram', { username: string; password: string }>>
  readonly stop: () => Promise<void>
}

/** Starts a broker that requires TLS and a password (SASL_SSL, PLAIN and SCRAM-SHA-512). */
export async function secureBroker(): Promise<SecureBroker> {
  const folder = guardedFolder().path
  const dataDir = join(folder, 'secure-kafka')
  const ports = { client: await freePort(), controller: await freePort() }
  const users = {
    plain: { username: 'anna', password: randomBytes(8).toString('hex') },
    scram: { username: 'bert', password: randomBytes(8).toString('hex') },
  }
  const keystore = join(dataDir, 'keystore.p12')
  const properties = join(dataDir, 'server.properties')
  const logFile = join(folder, 'secure-kafka.log')

  async function prepare() {
    const { jars, archive } = await ensureBrokerProgram(TOOLS)
    await mkdir(join(dataDir, 'logs'), { recursive: true })
    await keytool(
      '-genkeypair',
      '-alias',
      'broker',
      '-keyalg',
      'EC',
      '-dname',
      'CN=localhost',
      '-ext',
      'san=dns:localhost,ip:127.0.0.1',
      '-validity',
      '2',
    )
    await keytool('-exportcert', '-alias', 'broker', '-rfc', '-file', join(dataDir, 'broker.pem'))
    await writeFile(properties, secured(brokerProperties(dataDir, ports)))
    const broker = brokerCommand({ jars, properties, logFile, heapMb: TEST_HEAP_MB, archive, extra: TEST_JAVA_OPTIONS })
    const java = broker.args.slice(0, broker.args.indexOf('kafka.Kafka'))
    const scram = `SCRAM-SHA-512=[name=${users.scram.username},password=${users.scram.password}]`
    const clusterId = randomBytes(16).toString('base64url').replace(/^-/, 'A')
    await run('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties, '--add-scram', scram])
    return broker
  }

  function keytool(...args: string[]) {
    return run('keytool', [
      ...TEST_JAVA_OPTIONS.map((option) => `-J${option}`),
      ...args,
      '-keystore',
      keystore,
      '-storetype',
      'PKCS12',
      '-storepass',
      STORE_PASSWORD,
    ])
  }

  function secured(plain: string): string {
    const { username, password } = users.plain
    return `${plain
      .replace(`listeners=PLAINTEXT://127.0.0.1:${ports.client}`, `listeners=SASL_SSL://127.0.0.1:${ports.client}`)
      .replace(/advertised\.listeners=.*/, `advertised.listeners=SASL_SSL://localhost:${ports.client}`)}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=SASL_SSL
ssl.keystore.location=${keystore}
ssl.keystore.password=${STORE_PASSWORD}
ssl.truststore.location=${keystore}
ssl.truststore.password=${STORE_PASSWORD}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="${username}" password="${password}" user_${username}="${password}";
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
connections.max.reauth.ms=3000
`
  }

  const server = serverComponent({
    name: 'secure-kafka',
    address: `localhost:${ports.client}`,
    ports: { KAFKA_PORT: ports.client, KAFKA_CONTROLLER_PORT: ports.controller },
    dataDir,
    logFile,
    runDir: join(folder, 'run'),
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare,
    isHealthy: () => accepts(ports.client),
  })
  await server.start()
  return {
    address: `localhost:${ports.client}`,
    port: ports.client,
    certificate: await readFile(join(dataDir, 'broker.pem'), 'utf8'),
    users,
    stop: () => server.kill(),
  }
}
