import type { DecidedCommand } from '../../../schemas/commands/types.ts'
import { APPEND_TIME } from '../../../schemas/retention.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import type { RecordContext } from '../topology/api.ts'
import { TopologyError } from '../topology/errors.ts'

/**
 * The time by which a partition judges its commands: the highest timestamp that the broker has given to the current
 * command or to any earlier command, except commands that failed. This time never goes back, even if the clock of a new
 * partition leader is behind. The time depends only on the log. Decisions therefore do not depend on when a worker read
 * the commands, and can be checked afterwards.
 */
export interface JudgedTime {
  /** Returns the time of a command, epoch ms, and stores it for later commands. Must be called once per command. */
  of(ctx: RecordContext<string>): number
  /** Returns true if a key of the store belongs to the judged time and not to a command. */
  isOwnKey(key: string): boolean
}

/**
 * Key of the judged time. It is stored among the commands, because a separate store would need another topic. No
 * command id begins with a NUL.
 */
const KEY = '\0judged'

/** Creates the judged time of a partition. @param kept the store from which the time is restored after a restart */
export function judgedTime(kept: KeyedStore<string, DecidedCommand>): JudgedTime {
  return {
    of({ timestamp }) {
      const before = kept.get(KEY)?.decided_at ?? 0
      if (timestamp <= before) return before
      kept.put(KEY, { request_hash: '', decided_at: timestamp, answer: '' })
      return timestamp
    },
    isOwnKey: (key) => key === KEY,
  }
}

/** Checks that the broker sets a topic's timestamps. @throws TopologyError if the senders set the timestamps */
export function requireAppendTime(topology: string, topic: AnyTopic): void {
  const [[name, value]] = Object.entries(APPEND_TIME)
  if (topic.config?.[name] !== value) {
    throw new TopologyError(`${topology}: commands in ${topic.name} are judged by append time, so the topic needs ${name}=${value}`)
  }
}
