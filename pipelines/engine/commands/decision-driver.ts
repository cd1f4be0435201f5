import type { CommandFlow } from '../../../schemas/commands/topics.ts'
import type { CommandResult } from '../../../schemas/commands/types.ts'
import { type TestDriver, type TestDriverOptions, testDriver } from '../testing/test-driver.ts'
import type { Topology } from '../topology/topology.ts'

export interface AskOptions {
  /** Id of the command. Default: a new id. */
  readonly id?: string
  /** Hash of the request; the default is the command's id. A different hash for the same id is a conflict. */
  readonly requestHash?: string
  /** Deadline of the command in epoch ms; the default is a minute from now. */
  readonly deadline?: number
  /** Time at which the broker appended the command, epoch ms; the default is now. */
  readonly appendedAt?: number
}

/** Drives a deciding topology in tests: it sends commands and returns their answers. */
export interface DecisionDriver<C, V, A> {
  readonly driver: TestDriver
  /** Sends a command and returns its answer. @throws Error unless the command was decided, now or earlier */
  ask(key: string, body: C, options?: AskOptions): A
  /** Sends a command like `ask`, but returns the complete result, or undefined if there is none. */
  result(key: string, body: C, options?: AskOptions): CommandResult | undefined
  /** Returns the view that clients would read now; undefined if there is no view for the key. */
  view(key: string): V | undefined
}

const MINUTE_MS = 60_000

export function decisionDriver<C, V, A>(
  topology: Topology,
  flow: CommandFlow<C, V, A>,
  options: TestDriverOptions = {},
): DecisionDriver<C, V, A> {
  const driver = testDriver(topology, options)
  const views = new Map<string, V>()
  let commands = 0

  /** Applies the decisions to the views, like a sink. @returns the results among the decisions */
  function takeDecisions(): CommandResult[] {
    const results: CommandResult[] = []
    for (const { key, value } of driver.read(flow.decisions)) {
      if (value?.result != null) results.push(value.result)
      else if (value?.view != null) views.set(key as string, value.view)
      else views.delete(key as string)
    }
    return results
  }

  function result(key: string, body: C, asked: AskOptions = {}): CommandResult | undefined {
    takeDecisions()
    const command_id = asked.id ?? `asked-${++commands}`
    const request_hash = asked.requestHash ?? command_id
    const deadline = asked.deadline ?? driver.now + MINUTE_MS
    const command = { command_id, reply_to: 'driver', request_hash, deadline, body }
    driver.pipe(flow.commands, key, command, { appendedAt: asked.appendedAt })
    return takeDecisions().find((one) => one.command_id === command_id)
  }

  return {
    driver,
    result,
    ask(key, body, asked) {
      const found = result(key, body, asked)
      if (found?.outcome !== 'decided') throw new Error(`expected a decision but got ${found?.outcome ?? 'no result'}`)
      return JSON.parse(found.answer) as A
    },
    view(key) {
      takeDecisions()
      return views.get(key)
    },
  }
}
