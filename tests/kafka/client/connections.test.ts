import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openConnections } from '../../../kafka/client/connections.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { kafkaOptions } from '../../../kafka/client/options.ts'
import type { Connection } from '../../../kafka/client/protocol.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { silent } from './harness.ts'

const BROKER = { host: 'localhost', port: 9_092 }
const ADDRESSES = { brokers: ['localhost:9092'], clientId: 'test' }

/** A fake connection. The test decides when it opens or fails to open. */
function controlled() {
  const { promise: opening, resolve, reject } = Promise.withResolvers<void>()
  let status = 'none'
  const connection = {
    on() {},
    once() {},
    connect: () => opening,
    isConnected: () => status === 'connected',
    async close() {
      status = 'closed'
    },
  } as unknown as Connection
  return {
    connection,
    get status() {
      return status
    },
    succeed() {
      status = 'connected'
      resolve()
    },
    fail: () => reject(new Error('refused')),
  }
}

test('if a connection is dropped while it opens, and its opening fails later, the connection that has replaced it stays in use', async () => {
  const [first, second, third] = [controlled(), controlled(), controlled()]
  third.succeed()
  const next = [first, second, third]
  const connections = openConnections({
    options: kafkaOptions.parse(ADDRESSES),
    newConnection: () => (next.shift() as ReturnType<typeof controlled>).connection,
  })
  const dropped = connections.get(BROKER)
  connections.drop(BROKER)
  const current = connections.get(BROKER)
  second.succeed()
  await current
  first.fail()
  await expect(dropped).rejects.toMatchObject({ code: 'DISCONNECTED' })
  expect(await connections.get(BROKER)).toBe(second.connection)
  await connections.close()
  expect(second.status).toBe('closed')
})

test('closing all connections fails a request that is waiting for a connection, and the request does not open another one', async () => {
  const [lost, late] = [controlled(), controlled()]
  const next = [lost, late]
  const connections = openConnections({
    options: kafkaOptions.parse(ADDRESSES),
    newConnection: () => (next.shift() as ReturnType<typeof controlled>).connection,
  })
  lost.succeed()
  await connections.get(BROKER)
  await lost.connection.close()
  const waiting = connections.get(BROKER)
  await connections.close()
  await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' })
  expect(next).toEqual([late])
})

test('a transport keeps no references to closed fetchers, publishers, producers and memberless groups', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const transport = kafkaTransport({ ...ADDRESSES, stallToleranceMs: 0 }, { runtime: systemRuntime(silent) })
  async function used(): Promise<WeakRef<object>[]> {
    const parts = [transport.fetcher(), transport.publisher(), transport.producer({}), transport.memberlessGroup('group')]
    for (const part of parts) await part.close()
    return parts.map((part) => new WeakRef(part))
  }
  const parts = await used()
  await new Promise((resolve) => setTimeout(resolve))
  collectGarbage()
  expect(parts.map((part) => part.deref())).toEqual([undefined, undefined, undefined, undefined])
  await transport.close()
})
