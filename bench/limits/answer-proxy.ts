import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { LOOPBACK } from '../../deploy/local/ports.ts'

export interface AnswerProxy {
  readonly url: string
  close(): void
}

export interface DelayingProxy extends AnswerProxy {
  /** Delay of all subsequent replies, in ms. */
  delayMs: number
}

/** A chunk of Redis' output that is being held back. Chunks are always forwarded in order. */
interface Held {
  readonly data: Buffer
  isLetGo: boolean
}

/**
 * Starts a proxy between clients and Redis that can hold back replies.
 * @param answer called for each chunk of Redis' output; it calls `pass`, now or later, to forward the chunk to the
 * client
 */
export async function answerProxy(redisUrl: string, answer: (pass: () => void) => void): Promise<AnswerProxy> {
  const target = Number(new URL(redisUrl).port)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target, LOOPBACK)
    const waiting: Held[] = []
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
    upstream.on('data', (data: Buffer) => {
      const held: Held = { data, isLetGo: false }
      waiting.push(held)
      answer(() => {
        held.isLetGo = true
        while (waiting[0]?.isLetGo) client.write(waiting.shift()!.data)
      })
    })
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

export async function delayingProxy(redisUrl: string): Promise<DelayingProxy> {
  const state = { delayMs: 0 }
  const proxy = await answerProxy(redisUrl, (pass) => {
    if (state.delayMs === 0) pass()
    else setTimeout(pass, state.delayMs)
  })
  return Object.assign(state, proxy)
}
