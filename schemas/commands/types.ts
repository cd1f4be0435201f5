/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** What was decided about a command. Part of every decision topic. */
export interface CommandResult {
  command_id: string
  /** the API instance that waits for the result */
  reply_to: string
  /** hash of the first request with this command_id */
  request_hash: string
  /** conflict: an earlier command had the same command_id and a different request */
  outcome: CommandOutcome
  decided_at: number
  /** JSON in the service's own format; empty on conflict */
  answer: string
}

export type CommandOutcome = 'decided' | 'conflict'

/** The first answer to a command, remembered for 24 hours. Value of store `decided` of every topology that decides commands, key: command_id. In topologies that judge commands by append time, the row with the key `\0judged` has only decided_at: the highest timestamp that the broker has given to a command of the partition. */
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
