import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { LOOPBACK } from '../../deploy/local/ports.ts'

/**
 * Stands between a client and Redis.
 * @param answer called with each piece that Redis sends; `pass` hands it to the client, now or later
 */
export async function answerProxy(redisUrl: string, answer: (pass: () => void) => void): Promise<{ readonly url: string; close(): void }> {
  const target = Number(new URL(redisUrl).port)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target, LOOPBACK)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .setNoDelay(true)
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
    }
    client.on('data', (data) => upstream.write(data))
    upstream.on('data', (data) => answer(() => client.write(data)))
  })
  await new Promise<void>((listening) => server.listen(0, LOOPBACK, listening))
  return {
    url: `redis://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
