import { Socket } from 'node:net'
import { encodeFrame, frameReader } from './frames.ts'
import { CHILD_PIPE } from './link.ts'

/**
 * Answers the requests of the parent process one after another. Ends this process when the parent ends, and also when a
 * request fails, because the parent then starts a new process.
 */
export function serveParent(answer: (kind: number, body: Buffer) => Promise<Buffer>): void {
  const pipe = new Socket({ fd: CHILD_PIPE })
  let previous = Promise.resolve()
  const read = frameReader(({ kind, id, body }) => {
    previous = previous.then(async () => void pipe.write(encodeFrame({ kind, id, body: await answer(kind, body) })))
    previous.catch(fail)
  })
  pipe.on('data', read)
  pipe.on('error', () => process.exit())
  pipe.on('end', () => process.exit())
  // Ctrl-C reaches the whole process group, but the parent decides when this process ends.
  process.on('SIGINT', () => {})
}

function fail(error: Error): void {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
}
