import { write, writeSync } from 'node:fs'

/** The file descriptors of the standard outputs. */
export const STDOUT = 1
export const STDERR = 2

/** Receives the lines of a log. Each line ends with a line break. Never throws. */
export interface LogOutput {
  write(line: string): void
}

/**
 * Size at which collected lines are written. A separate write for each line would cost a busy API a twentieth of its
 * CPU time.
 */
const WRITTEN_FROM_CHARACTERS = 16_000
/** Maximum time for which a line is collected, and pause after a failed write. */
const WRITE_EVERY_MS = 100
/**
 * Maximum size of the lines that wait for a slow reader or a full disk. This is more than a busy API logs in 20
 * seconds.
 */
const MAX_WAITING_CHARACTERS = 8 * 1_048_576
/** How long a line that must be written at once may wait for a slow reader. */
const FULL_PIPE_MS = 1_000
const FULL_PIPE_PAUSE_MS = 10
const NOTHING = Buffer.alloc(0)

/**
 * Creates an output that writes each line before the call returns. A line that cannot be written is lost, because a
 * full disk must not end the process. The outputs of pino throw such errors, and then try to write forever while the
 * process exits.
 * @param fd file descriptor
 */
export function directOutput(fd: number): LogOutput {
  return { write: (line) => writeNow(fd, Buffer.from(line)) }
}

/**
 * Creates an output that collects lines and writes them in the background, so that a slow reader of the log does not
 * slow requests down. If lines cannot be written, they wait. Further lines are dropped when too many lines wait. An
 * additional line before the next accepted line reports how many were dropped. The last lines are written at exit.
 * @param fd file descriptor
 * @param maxWaiting maximum number of characters of the lines that wait, not counting the current batch
 */
export function bufferedOutput(fd: number, maxWaiting = MAX_WAITING_CHARACTERS): LogOutput {
  /** Lines that are not in a batch yet. */
  let lines = ''
  let batch: Buffer = NOTHING
  let dropped = 0
  let isWriting = false
  let timer: NodeJS.Timeout | undefined

  function plan(): void {
    timer ??= setTimeout(send, WRITE_EVERY_MS).unref()
  }

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    if (batch.length === 0) {
      batch = Buffer.from(lines)
      lines = ''
    }
    isWriting = true
    write(fd, batch, (error, written) => {
      isWriting = false
      if (error === null) batch = batch.subarray(written)
      if (error === null && (batch.length > 0 || lines.length >= WRITTEN_FROM_CHARACTERS)) send()
      else if (batch.length > 0 || lines !== '') plan()
    })
  }

  // A batch that is being written is left to the thread that writes it.
  process.on('exit', () => writeNow(fd, Buffer.concat([isWriting ? NOTHING : batch, Buffer.from(lines)])))

  return {
    write(line) {
      if (lines.length + line.length > maxWaiting) {
        dropped++
        return
      }
      if (dropped > 0) lines += lossLine(dropped)
      dropped = 0
      lines += line
      if (isWriting) return
      if (batch.length === 0 && lines.length >= WRITTEN_FROM_CHARACTERS) send()
      else plan()
    },
  }
}

function lossLine(count: number): string {
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines: count, event: 'log_lines_dropped' })}\n`
}

/** Writes all bytes, or gives up if a write fails or if the pipe is still full after `FULL_PIPE_MS`. */
function writeNow(fd: number, bytes: Buffer): void {
  const until = performance.now() + FULL_PIPE_MS
  let rest = bytes
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= until) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, FULL_PIPE_PAUSE_MS)
    }
  }
}
