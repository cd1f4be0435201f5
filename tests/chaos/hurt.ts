import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type ApiProcess, startApiProcess } from '../api/api-process.ts'
import { flushTestRedis } from '../stack/flush-redis.ts'

/** Suspends a process with a signal while `whileStopped` runs. */
export async function stopped(pid: number | undefined, whileStopped: () => Promise<unknown>): Promise<void> {
  process.kill(pid as number, 'SIGSTOP')
  try {
    await whileStopped()
  } finally {
    process.kill(pid as number, 'SIGCONT')
  }
}

/** A server or a worker that can be killed and started again. */
type Killable = { kill(): Promise<unknown> } & ({ start(): Promise<unknown> } | { restart(): Promise<unknown> })

/** Kills a process with SIGKILL, and starts it again after `whileDown`. */
export async function restarted(killable: Killable, whileDown: () => Promise<unknown>): Promise<void> {
  await killable.kill()
  await whileDown()
  await ('start' in killable ? killable.start() : killable.restart())
}

/** Suspends a server and, in the middle of the suspension, makes another part fail as well. */
export async function stoppedDuring(
  pid: number | undefined,
  hold: () => Promise<unknown>,
  incident: () => Promise<unknown>,
): Promise<void> {
  await stopped(pid, async () => {
    await hold()
    await incident()
    await hold()
  })
}

/** The API processes of a system, with their folder and environment. */
export interface ApiHome {
  readonly apis: ApiProcess[]
  readonly folder: { readonly path: string }
  readonly env: Record<string, string>
}

/**
 * Kills an API process with SIGKILL, and replaces it with a new process after `downMs`.
 * @param onStart called before the new process starts
 */
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

/** Returns the pid of the child process that runs the given file. `pid` is the pid of the parent. */
export function childOf(pid: number | undefined, file: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  const found = children.find((child) =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8')
      .split('\0')
      .some((part) => part.endsWith(file)),
  )
  if (found === undefined) throw new Error(`process ${pid} has no child that runs ${file}`)
  return Number(found)
}
