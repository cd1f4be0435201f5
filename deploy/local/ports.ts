import { connect, createServer, type Server } from 'node:net'

export const LOOPBACK = '127.0.0.1'

/**
 * Ports from which free ports are chosen. The range is below the kernel's ephemeral ports (from 32768), so that no
 * outgoing connection takes a port that was found to be free.
 */
const FREE_PORT_FROM = 20_000
const FREE_PORT_TO = 32_000
/**
 * Number of ports in a block. A process takes ports only from its own blocks. Checking a port is not enough: another
 * process may have chosen the port already, although its server does not listen yet. Most processes need fewer than 20
 * ports.
 */
const BLOCK_PORTS = 100
const BLOCKS = (FREE_PORT_TO - FREE_PORT_FROM) / BLOCK_PORTS
/** Ports of this process's blocks that the process has not checked yet. */
let unchecked: number[] = []
let claiming: Promise<void> | undefined

/**
 * Returns why this user cannot listen on `port` of the loopback address: the port is in use, or only root may use it.
 * Returns undefined if the user can.
 */
export async function portObstacle(port: number): Promise<'taken' | 'forbidden' | undefined> {
  const probe = await listenAt(port)
  if (probe instanceof Error) return probe.code === 'EACCES' ? 'forbidden' : 'taken'
  await new Promise((resolve) => probe.close(resolve))
  return undefined
}

/** Listens on `port` of the loopback address. Returns the error if this is not possible. */
function listenAt(port: number): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => resolve(server))
  })
}

/**
 * Returns a free port. The function never returns the same port twice, not even to another process that runs at the
 * same time.
 * @param random returns a number from 0 (inclusive) to 1 (exclusive)
 */
export async function freePort(random: () => number = Math.random): Promise<number> {
  for (;;) {
    const port = unchecked.pop()
    if (port === undefined) {
      claiming ??= claimBlock(random).finally(() => {
        claiming = undefined
      })
      await claiming
    } else if ((await portObstacle(port)) === undefined) return port
  }
}

/** Claims a block for this process, by listening on the block's first port until the process ends. */
async function claimBlock(random: () => number): Promise<void> {
  const start = Math.floor(random() * BLOCKS)
  for (let attempt = 0; attempt < BLOCKS; attempt++) {
    const first = FREE_PORT_FROM + ((start + attempt) % BLOCKS) * BLOCK_PORTS
    const claim = await listenAt(first)
    if (claim instanceof Error) continue
    claim.unref()
    unchecked = Array.from({ length: BLOCK_PORTS - 1 }, (_, index) => first + BLOCK_PORTS - 1 - index)
    return
  }
  throw new Error(`no free block of ${BLOCK_PORTS} ports found from ${FREE_PORT_FROM} to ${FREE_PORT_TO - 1}`)
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
