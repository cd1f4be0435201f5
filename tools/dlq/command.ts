import type { Transport } from '../../kafka/transport.ts'
import { type DeadLetterFilter, type DeadLetterRecord, readDeadLetters, replayDeadLetters } from '../../pipelines/engine/index.ts'
import type { ValuesOf } from '../../scripts/command-line/command.ts'
import { formatDeadLetter, formatSummary } from './format.ts'
import { type default as declaration, SHOWN_LETTERS } from './main.command.ts'

export interface DlqDeps {
  readonly transport: Transport
  /** Names of all topologies and sinks that have a dead-letter topic. */
  readonly names: () => Promise<readonly string[]>
  /**
   * Creates a function that decodes values in the schema registry's format. The function returns undefined for other
   * bytes and for values of unknown schemas.
   */
  readonly decoder: (letters: readonly DeadLetterRecord[]) => Promise<(value: Buffer) => unknown>
  readonly print: (text: string) => void
}

/** Runs the requested command. */
export async function runDlq(asked: ValuesOf<typeof declaration>, deps: DlqDeps): Promise<void> {
  const { COMMAND: command, NAME: name, offset: offsets, code, source, processor, limit = SHOWN_LETTERS } = asked
  const filter: DeadLetterFilter = { offsets: offsets.length === 0 ? undefined : new Set(offsets), code, source, processor }
  if (name === undefined) return list(await deps.names(), deps)
  switch (command) {
    case 'list':
      return list([name], deps)
    case 'show':
      return show(name, filter, limit, deps)
    case 'replay':
      return replay(name, { ...filter, again: asked.again }, deps)
  }
}

async function list(names: readonly string[], { transport, print }: DlqDeps): Promise<void> {
  if (names.length === 0) print('no topology or sink has a dead-letter topic yet\n')
  for (const name of names) print(formatSummary(name, await readDeadLetters(transport, name)))
}

async function show(name: string, filter: DeadLetterFilter, limit: number, { transport, decoder, print }: DlqDeps): Promise<void> {
  const letters = await readDeadLetters(transport, name, filter)
  const shown = letters.slice(0, limit)
  const decode = await decoder(shown)
  print(shown.map((letter) => formatDeadLetter(letter, decode)).join('\n'))
  if (letters.length > shown.length) print(`\n${letters.length - shown.length} more: raise --limit\n`)
  if (letters.length === 0) print('no dead letter matches\n')
}

async function replay(name: string, filter: DeadLetterFilter & { readonly again: boolean }, { transport, print }: DlqDeps): Promise<void> {
  const result = await replayDeadLetters(transport, name, filter)
  const { replayed, skippedReplayed, skippedDuplicates, skippedReturned, skippedCut } = result
  print(`replayed ${replayed} records\n`)
  if (skippedReplayed > 0) print(`skipped ${skippedReplayed} dead letters of records that were already replayed\n`)
  if (skippedDuplicates > 0) print(`skipped ${skippedDuplicates} dead letters that repeat an earlier one of the same record\n`)
  if (skippedReturned > 0)
    print(`skipped ${skippedReturned} dead letters of records that failed again after a replay: fix the cause, then use --again\n`)
  if (skippedCut > 0) print(`skipped ${skippedCut} dead letters that are incomplete (see show)\n`)
}
