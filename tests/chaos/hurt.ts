import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type ApiProcess, startApiProcess } from '../api/api-process.ts'
import { flushTestRedis } from '../stack/flush-redis.ts'

/** Stops a process by a signal until the work is done. */
export async function stopped(pid: number | undefined, whileStopped: () => Promise<unknown>): Promise<void> {
  process.kill(pid as number, 'SIGSTOP')
  try {
    await whileStopped()
  } finally {
    process.kill(pid as number, 'SIGCONT')
  }
}

/** The API processes of a system, and what starts another one. */
export interface ApiHome {
  readonly apis: ApiProcess[]
  readonly folder: { readonly path: string }
  readonly env: Record<string, string>
}

/** Kills an API process with SIGKILL and starts another one in its place. @param onStart called before it starts */
export async function killApi({ apis, folder, env }: ApiHome, index: number, downMs: number, onStart: () => void): Promise<void> {
  const exited = once(apis[index].child, 'close')
  apis[index].child.kill('SIGKILL')
  await exited
  await delay(downMs)
  onStart()
  apis[index] = await startApiProcess(folder.path, env)
}

export async function emptyRedis(address: string): Promise<void> {
  const client = new Redis(address)
  try {
    await flushTestRedis(client)
  } finally {
    client.disconnect()
  }
}
