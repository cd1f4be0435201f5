import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

const LOOPBACK = '127.0.0.1'

/** Stands between a client and Redis; what Redis says can be held back. Gone when the test ends. */
export async function holdingProxy(redisUrl: string) {
  const target = Number(new URL(redisUrl).port)
  const sockets = new Set<Socket>()
  let isHolding = false
  let held: (() => void)[] = []
  const server = createServer((client) => {
    const upstream = connect(target, LOOPBACK)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy()
          upstream.destroy()
        })
    }
    client.on('data', (data) => upstream.write(data))
    upstream.on('data', (data) => {
      if (isHolding) held.push(() => client.write(data))
      else client.write(data)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `redis://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    hold() {
      isHolding = true
    },
    release() {
      isHolding = false
      for (const send of held) send()
      held = []
    },
  }
}
