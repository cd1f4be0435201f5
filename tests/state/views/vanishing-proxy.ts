import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface VanishingProxy {
  readonly url: string
  /**
   * Simulates a host that was replaced after a power failure: open connections stay open, but they transmit nothing any
   * more. New connections work.
   */
  vanish(): void
}

/** Starts a proxy in front of a Redis. It closes when the test ends. */
export async function vanishingProxy(redisUrl: string): Promise<VanishingProxy> {
  const { hostname, port } = new URL(redisUrl)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = dial(Number(port), hostname)
    upstream.pipe(client)
    client.pipe(upstream)
    client.once('close', () => upstream.destroy())
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => sockets.delete(socket))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    vanish() {
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}
