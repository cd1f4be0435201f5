import { connect, createServer } from 'node:net'

export const LOOPBACK = '127.0.0.1'

/**
 * First port to try. The range is below the kernel's ephemeral ports (from 32768), so that no outgoing connection takes
 * a port between the check and its use.
 */
const FREE_PORT_FROM = 20_000
const FREE_PORT_TO = 32_000
const FREE_PORT_TRIES = 200
/** Ports that were already returned. They are remembered because a server may not be listening on them yet. */
const given = new Set<number>()

/** Returns true if nothing listens at `port` on the loopback address. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: LOOPBACK, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/**
 * Returns a free port. The function never returns the same port twice in this process.
 * @param random returns a number from 0 (inclusive) to 1 (exclusive)
 */
export async function freePort(random: () => number = Math.random): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_TRIES; attempt++) {
    const port = FREE_PORT_FROM + Math.floor(random() * (FREE_PORT_TO - FREE_PORT_FROM))
    if (given.has(port)) continue
    given.add(port)
    if (await isPortFree(port)) return port
  }
  throw new Error(`no free port found between ${FREE_PORT_FROM} and ${FREE_PORT_TO}`)
}

/** Returns true if a TCP connection to the port is accepted. */
export function accepts(port: number, host = LOOPBACK, timeoutMs = 1_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: timeoutMs })
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => finish(true))
    socket.once('timeout', () => finish(false))
    socket.once('error', () => finish(false))
  })
}
