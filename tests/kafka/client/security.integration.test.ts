import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { apiTransport } from '../../../api/kit/kafka.ts'
import { provisionTopics } from '../../../deploy/local/provision.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { readKafkaSecurity } from '../../../kafka/config.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { clicks } from '../../../schemas/links/topics.ts'
import { startWorkerProcess } from '../../api/worker-process.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { privateRedis, privateRegistry, testStack } from '../../stack/index.ts'
import { append, commit, connected, DEADLINE_MS, newProducer, newTopic, readToEnd, silent, valuesOf } from './harness.ts'
import { type SecureBroker, secureBroker } from './secure-broker.ts'

const DLQ = fileURLToPath(new URL('../../../tools/dlq/main.ts', import.meta.url))
const SECURITY_TEST_MS = 150_000
/**
 * How long the test keeps committing records. The broker requires connections to re-authenticate every 3 s, so this
 * happens at least twice.
 */
const OVER_REAUTHENTICATION_MS = 7_000

let broker: SecureBroker

beforeAll(async () => {
  broker = await secureBroker()
  const { address, certificate, users } = broker
  // The port accepts connections before the broker is ready, so the test retries.
  await waitUntil(
    async () => {
      const sasl = { mechanism: 'PLAIN' as const, ...users.plain }
      const options = { clientId: 'probe', brokers: [address], tls: { ca: certificate }, sasl }
      const probe = kafkaTransport(options, { runtime: systemRuntime(silent) })
      await probe.connect().finally(() => probe.close())
      return true
    },
    { what: 'the secure broker', timeoutMs: DEADLINE_MS, intervalMs: 500 },
  )
  return broker.stop
}, SECURITY_TEST_MS)

test(
  'clients connect with PLAIN and SCRAM over TLS and stay connected, and wrong passwords and unknown certificates are refused',
  async () => {
    const { address, port, certificate, users } = broker
    const plain = { brokers: [address], tls: { ca: certificate }, sasl: { mechanism: 'PLAIN' as const, ...users.plain } }
    const transport = await connected(address, plain)
    const topic = await newTopic(transport, 1)
    const producer = await newProducer(transport)
    const texts: string[] = []
    const endAt = Date.now() + OVER_REAUTHENTICATION_MS
    while (Date.now() < endAt) {
      const text = `${texts.length}`
      append(producer, topic, 0, text)
      await commit(producer)
      texts.push(text)
    }
    expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(texts)

    const scram = await connected(address, { ...plain, sasl: { mechanism: 'SCRAM-SHA-512', ...users.scram } })
    expect(await scram.partitionCounts([topic])).toEqual(new Map([[topic, 1]]))
    const byAddress = await connected(address, { ...plain, brokers: [`127.0.0.1:${port}`] })
    expect(await byAddress.partitionCounts([topic])).toEqual(new Map([[topic, 1]]))

    const refused = async (options: object) => {
      const wrong = kafkaTransport({ clientId: 'wrong', ...plain, ...options }, { runtime: systemRuntime(silent) })
      const error = await wrong.connect().then(
        () => undefined,
        (reason) => reason,
      )
      await wrong.close()
      return error
    }
    expect(await refused({ sasl: { mechanism: 'PLAIN', username: users.plain.username, password: 'wrong' } })).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      fatal: true,
    })
    expect(await refused({ sasl: { mechanism: 'SCRAM-SHA-512', username: users.scram.username, password: 'wrong' } })).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      fatal: true,
    })
    expect(await refused({ tls: {} })).toMatchObject({
      code: 'BROKERS_UNREACHABLE',
      message: expect.stringMatching(/self.signed certificate/),
    })
  },
  SECURITY_TEST_MS,
)

test(
  'provisioning, registry, worker, API and the dead-letter command use their settings to reach a broker with TLS and passwords',
  async () => {
    const { address, certificate, users } = broker
    const folder = guardedFolder()
    onTestFinished(() => folder.finish())
    const authorities = join(folder.path, 'authorities.pem')
    writeFileSync(authorities, certificate)
    const security = {
      KAFKA_BROKERS: address,
      KAFKA_TLS: '1',
      KAFKA_TLS_CA: authorities,
      KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
      KAFKA_SASL_USERNAME: users.scram.username,
      KAFKA_SASL_PASSWORD: users.scram.password,
    }
    for (const [name, value] of Object.entries(security)) vi.stubEnv(name, value)
    onTestFinished(() => void vi.unstubAllEnvs())

    const registry = await privateRegistry(address)
    await provisionTopics(address, registry.address, () => 1)
    const api = apiTransport({ brokers: [address], security: readKafkaSecurity(), log: silent })
    onTestFinished(() => api.close())
    expect(await api.partitionCounts([clicks.name])).toEqual(new Map([[clicks.name, 1]]))

    const redis = await privateRedis()
    const env = { ...security, SCHEMA_REGISTRY_URL: registry.address, PIPELINES: 'clicks', PORT: '0' }
    const worker = await startWorkerProcess(folder.path, {
      ...env,
      REDIS_URL: redis.address,
      CLICKHOUSE_URL: await testStack().clickhouse(),
    })
    onTestFinished(() => worker.kill())
    await waitUntil(worker.isReady, { what: 'the worker', timeoutMs: DEADLINE_MS })
    const producer = await newProducer(await connected(address, readKafkaSecurity()))
    append(producer, clicks.name, 0, 'no Avro')
    await commit(producer)
    const letters = () => promisify(execFile)(process.execPath, [DLQ, 'list'], { env: { ...process.env, ...env } })
    await waitUntil(async () => (await letters()).stdout.includes('clicks: 1 dead letter'), {
      what: 'the dead letter',
      // The time limit is twice as long as usual, because each attempt starts a new process.
      timeoutMs: 2 * DEADLINE_MS,
      intervalMs: 500,
    })
  },
  SECURITY_TEST_MS,
)
