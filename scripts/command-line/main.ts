import { answerTo } from './check.ts'
import type { Command } from './command.ts'

/** Classes of errors that usually indicate a bug. Their stack traces are printed. */
const BUGS = [TypeError, RangeError, ReferenceError]

interface Issues {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
}

/**
 * Returns the values of this process's command line. For `--help` and for wrong options it prints the response and ends
 * the process, so call it before starting or creating anything.
 */
export function commandLine<V>(command: Command<V>): V {
  endWithReader()
  const args = process.argv.slice(2)
  const { text, exitCode } = answerTo(command, args)
  if (exitCode === undefined) return command.parse(args) as V
  const output = exitCode === 0 ? process.stdout : process.stderr
  output.write(text)
  process.exit(exitCode)
}

/**
 * Runs a program. If it throws, prints the error and sets the exit code to 1.
 * @param work returns the exit code; undefined leaves `process.exitCode` unchanged
 */
export async function runMain(work: () => Promise<number> | Promise<void>): Promise<void> {
  endWithReader()
  try {
    process.exitCode = (await work()) ?? process.exitCode
  } catch (error) {
    process.stderr.write(`millrace: ${failureText(error)}\n`)
    process.exitCode = 1
  }
}

/** Returns the error message for the user, or the stack trace of a bug. */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (BUGS.some((kind) => error instanceof kind)) return error.stack ?? error.message
  return hasIssues(error) ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') : error.message
}

/** Recognises a ZodError. Its message is multi-line JSON, so its issues are printed instead. */
function hasIssues(error: Error): error is Error & Issues {
  return 'issues' in error && Array.isArray(error.issues)
}

let endsWithReader = false

/** Codes of the errors that occur when nothing reads an output any more, because a pipe or a terminal was closed. */
const READER_HAS_GONE = ['EPIPE', 'EIO']

/**
 * Ends the process when its output can no longer be written. Otherwise `npm run status | head` would print the stack
 * trace of an unhandled EPIPE, and a command that has started servers would not stop them.
 */
function endWithReader(): void {
  if (endsWithReader) return
  endsWithReader = true
  let isEnding = false
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isEnding) return
      isEnding = true
      // Any other error, such as a full disk, is a failure of the command.
      const isFailure = !READER_HAS_GONE.includes(error.code ?? '')
      if (isFailure) {
        process.exitCode = 1
        process.stderr.write(`millrace: the output cannot be written: ${error.message}\n`)
      }
      // A command that has started servers stops them when it receives a signal. SIGHUP is preferred, because it does
      // not interrupt a command that is already stopping.
      const signal = (['SIGHUP', 'SIGTERM'] as const).find((name) => process.listenerCount(name) > 0)
      if (signal === undefined) process.exit(isFailure ? 1 : 0)
      process.kill(process.pid, signal)
    })
  }
}
