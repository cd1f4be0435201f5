/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** What was decided about a command. Part of every decision topic. */
export interface CommandResult {
  command_id: string
  /** the API instance that waits for the result */
  reply_to: string
  /** hash of the request that was decided */
  request_hash: string
  /** conflict: the id was used before with another request */
  outcome: CommandOutcome
  decided_at: number
  /** JSON in the service's own format; empty on conflict */
  answer: string
}

export type CommandOutcome = 'decided' | 'conflict'

/** The first answer to a command, kept for 24 hours. Stores <topology>-decided, key: command_id. */
export interface DecidedCommand {
  request_hash: string
  decided_at: number
  /** JSON */
  answer: string
}

declare module '../load.ts' {
  interface RecordTypes {
    'commands/CommandResult': CommandResult
    'commands/DecidedCommand': DecidedCommand
  }
}
