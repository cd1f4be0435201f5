import { spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { encodeFrame, frameReader } from './frames.ts'

/** A running child process that answers requests. */
export interface ChildLink {
  /** Resolves to the answer. Rejects with `ChildGone` when the child ends first, however late that is. */
  request(kind: number, body: Buffer): Promise<Buffer>
  /** Ends the child at once. */
  kill(): void
  /** Resolves when the child has ended, with the way in which it ended. */
  readonly ended: Promise<string>
}

export class ChildGone extends Error {
  override readonly name = 'ChildGone'
}

/** The descriptor of the pipe in the child. Native libraries may write to the first three. */
export const CHILD_PIPE = 3
const MOST_ID = 2 ** 32

export interface ChildOptions {
  /** A TypeScript file, which this Node runs. */
  readonly file: string
  /** Receives each line that the child writes to standard error. */
  onLine(line: string): void
}

/**
 * Starts a child process with a pipe of frames and without this one's environment, which holds secrets. It ends by
 * itself when this process does.
 */
export function startChild({ file, onLine }: ChildOptions): ChildLink {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], env: {} })
  const pipe = child.stdio[CHILD_PIPE] as Duplex
  const waiting = new Map<number, PromiseWithResolvers<Buffer>>()
  const end = Promise.withResolvers<string>()
  let lastId = 0
  let isGone = false

  function gone(how: string): void {
    if (isGone) return
    isGone = true
    child.kill('SIGKILL')
    for (const { reject } of waiting.values()) reject(new ChildGone(how))
    waiting.clear()
    end.resolve(how)
  }

  child.on('error', (error) => gone(error.message))
  child.on('exit', (code, signal) => gone(signal ?? `exit code ${code}`))
  // A child that is killed while this process writes breaks the pipe first.
  pipe.on('error', (error) => gone(error.message))
  const read = frameReader(({ id, body }) => {
    waiting.get(id)?.resolve(body)
    waiting.delete(id)
  })
  pipe.on('data', (chunk: Buffer) => {
    try {
      read(chunk)
    } catch (error) {
      gone((error as Error).message)
    }
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) if (line !== '') onLine(line)
  })

  return {
    request(kind, body) {
      if (isGone) return Promise.reject(new ChildGone('ended'))
      lastId = (lastId + 1) % MOST_ID
      const answer = Promise.withResolvers<Buffer>()
      waiting.set(lastId, answer)
      pipe.write(encodeFrame({ kind, id: lastId, body }))
      return answer.promise
    },
    kill: () => void child.kill('SIGKILL'),
    ended: end.promise,
  }
}
