import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface HangingProxy {
  readonly url: string
  /** Stops all traffic in both directions until `release`, without closing connections. */
  hang(): void
  release(): void
}

/**
 * Starts a proxy that can make a server seem to hang. In that state, the proxy accepts connections and requests, but
 * never responds.
 */
export async function hangingProxy(url: string): Promise<HangingProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isHanging = false

  function add(socket: Socket): void {
    sockets.add(socket)
    if (isHanging) socket.pause()
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  }

  const server = createServer((client) => {
    const upstream = dial(Number(port), hostname)
    upstream.pipe(client)
    client.pipe(upstream)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
    add(client)
    add(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hang() {
      isHanging = true
      for (const socket of sockets) socket.pause()
    },
    release() {
      isHanging = false
      for (const socket of sockets) socket.resume()
    },
  }
}
