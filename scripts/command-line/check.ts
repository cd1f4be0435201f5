import { pathToFileURL } from 'node:url'
import type { Command } from './command.ts'
import { UsageError } from './option.ts'

/** Conventional exit code for a wrong command line. */
export const USAGE_EXIT_CODE = 2

/** The result of checking a command line. */
export interface Answer {
  readonly text: string
  /** The exit code of the process; undefined when the command line is valid and the command may run. */
  readonly exitCode: 0 | typeof USAGE_EXIT_CODE | undefined
}

/** Returns the help text for `--help`, an error message for a wrong command line, and an empty text for a valid one. */
export function answerTo(command: Command<unknown>, args: readonly string[]): Answer {
  try {
    return command.parse(args) === 'help' ? { text: command.help, exitCode: 0 } : { text: '', exitCode: undefined }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { text: `millrace: ${error.message}\n`, exitCode: USAGE_EXIT_CODE }
  }
}

/** Checks a command line for the command that the given file declares. */
export async function answerOf(declaration: string, args: readonly string[]): Promise<Answer> {
  const { default: command } = (await import(pathToFileURL(declaration).href)) as { default: Command<unknown> }
  return answerTo(command, args)
}
