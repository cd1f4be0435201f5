import { expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { append, commit, connected, DEADLINE_MS, newProducer, newTopic, readToEnd, silent, valuesOf } from './harness.ts'
import { secureBroker } from './secure-broker.ts'

const SECURITY_TEST_MS = 150_000
/** The broker requires every connection to authenticate again after 3 s. */
const OVER_REAUTHENTICATION_MS = 7_000

test(
  'clients connect with PLAIN and SCRAM over TLS and stay connected, and wrong passwords and unknown certificates are refused',
  async () => {
    const { address, port, certificate, users } = await secureBroker()
    const plain = { brokers: [address], tls: { ca: certificate }, sasl: { mechanism: 'PLAIN' as const, ...users.plain } }
    // The port accepts connections before the broker is ready.
    await waitUntil(
      async () => {
        const probe = kafkaTransport({ clientId: 'probe', ...plain }, { runtime: systemRuntime(silent) })
        await probe.connect().finally(() => probe.close())
        return true
      },
      { what: 'the secure broker', timeoutMs: DEADLINE_MS, intervalMs: 500 },
    )

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
