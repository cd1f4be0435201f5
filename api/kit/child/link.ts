import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { encodeFrame, frameReader } from './frames.ts'

/** A running child process that answers requests. */
export interface ChildLink {
  /** Resolves to the answer. Rejects with `ChildGone` if the child ends before it answers. There is no time limit. */
  request(kind: number, body: Buffer): Promise<Buffer>
  /** Ends the child at once. */
  kill(): void
  /** Resolves with the reason when the child has ended. */
  readonly ended: Promise<string>
}

export class ChildGone extends Error {
  override readonly name = 'ChildGone'
}

/**
 * The descriptor of the pipe in the child. Frames do not use the descriptors 0 to 2, because native libraries may write
 * to them.
 */
export const CHILD_PIPE = 3
const MOST_ID = 2 ** 32

export interface ChildOptions {
  /** The TypeScript file that the child runs, with the same Node binary as this process. */
  readonly file: string
  /** Receives each line that the child writes to standard error, except empty lines. */
  onLine(line: string): void
}

/**
 * Starts a child process that exchanges frames with this process through a pipe. The environment of this process
 * contains secrets, so the child gets an empty environment. The child ends by itself when this process ends.
 * @throws Error if this process has no free file descriptors
 */
export function startChild({ file, onLine }: ChildOptions): ChildLink {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], env: {} })
  // Without free file descriptors, Node creates no pipes, and emits an error that would end this process.
  if ((child.stdio as typeof child.stdio | undefined) === undefined) {
    child.on('error', () => undefined)
    throw new Error('no free file descriptors')
  }
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
  // If the child is killed while this process writes, the pipe reports an error before the child's exit is reported.
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
  createInterface(child.stderr as Readable).on('line', (line) => {
    if (line !== '') onLine(line)
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
