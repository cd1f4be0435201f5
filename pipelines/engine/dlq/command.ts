import { parseArgs } from 'node:util'
import type { Transport } from '../../../kafka/transport.ts'
import { formatDeadLetter, formatSummary } from './format.ts'
import { type DeadLetterFilter, type DeadLetterRecord, readDeadLetters } from './read.ts'
import { replayDeadLetters } from './replay.ts'

const DLQ_USAGE = `npm run dlq -- list [name]              dead letters by code, of one topology or sink or of all
npm run dlq -- show <name>              the records: where from, why, key, value, headers
npm run dlq -- replay <name>            sends them back to the topics that they came from, once

which ones (show, replay; all conditions together):
  --offset <n>      one dead letter, may be given several times
  --code <code>     e.g. undecodable_value
  --source <topic>
  --processor <name>
  --limit <n>       show: at most so many, default 20
  --all             replay: every dead letter; needed when no condition is given
  --again           replay: also those that were replayed before (they come twice) or that came back
`

const DEFAULT_SHOWN = 20

export interface DlqDeps {
  readonly transport: Transport
  /** Names of everything that has a dead-letter topic. */
  readonly names: () => Promise<readonly string[]>
  /** Decodes a value of the schema registry's format; undefined for other bytes. */
  readonly decoder: (letters: readonly DeadLetterRecord[]) => Promise<(value: Buffer) => unknown>
  readonly print: (text: string) => void
}

/** Runs one command. @throws Error with the usage when the arguments are wrong */
export async function runDlq(args: readonly string[], deps: DlqDeps): Promise<void> {
  const { positionals, values } = parse(args)
  const [command, name, ...rest] = positionals
  if (rest.length > 0) throw new Error(`${rest[0]} is one argument too many\n\n${DLQ_USAGE}`)
  const filter: DeadLetterFilter = {
    offsets: values.offset === undefined ? undefined : new Set(values.offset.map(offsetNumber)),
    code: values.code,
    source: values.source,
    processor: values.processor,
  }
  switch (command) {
    case 'list':
      return list(name === undefined ? await deps.names() : [name], deps)
    case 'show':
      return show(required(name), filter, values.limit === undefined ? DEFAULT_SHOWN : offsetNumber(values.limit), deps)
    case 'replay':
      return replay(required(name), filter, values, deps)
    default:
      throw new Error(DLQ_USAGE)
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        offset: { type: 'string', multiple: true },
        code: { type: 'string' },
        source: { type: 'string' },
        processor: { type: 'string' },
        limit: { type: 'string' },
        all: { type: 'boolean' },
        again: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${DLQ_USAGE}`)
  }
}

function required(name: string | undefined): string {
  if (name === undefined) throw new Error(`name a topology or sink\n\n${DLQ_USAGE}`)
  return name
}

function offsetNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${text} is no number\n\n${DLQ_USAGE}`)
  return Number(text)
}

async function list(names: readonly string[], { transport, print }: DlqDeps): Promise<void> {
  if (names.length === 0) print('nothing has a dead-letter topic yet\n')
  for (const name of names) print(formatSummary(name, await readDeadLetters(transport, name)))
}

async function show(name: string, filter: DeadLetterFilter, limit: number, { transport, decoder, print }: DlqDeps): Promise<void> {
  const letters = await readDeadLetters(transport, name, filter)
  const shown = letters.slice(0, limit)
  const decode = await decoder(shown)
  print(shown.map((letter) => formatDeadLetter(letter, decode)).join('\n'))
  if (letters.length > shown.length) print(`\n${letters.length - shown.length} more: raise --limit\n`)
  if (letters.length === 0) print('no dead letter fits\n')
}

async function replay(
  name: string,
  filter: DeadLetterFilter,
  options: { readonly all?: boolean; readonly again?: boolean },
  { transport, print }: DlqDeps,
): Promise<void> {
  const chosen = Object.values(filter).some((condition) => condition !== undefined)
  if (!chosen && options.all !== true) throw new Error(`say which: a condition, or --all\n\n${DLQ_USAGE}`)
  const result = await replayDeadLetters(transport, name, { ...filter, again: options.again })
  const { replayed, skippedReplayed, skippedReturned, skippedCut } = result
  print(`replayed ${replayed}\n`)
  if (skippedReplayed > 0) print(`left out ${skippedReplayed} that were replayed before\n`)
  if (skippedReturned > 0) print(`left out ${skippedReturned} that came back after a replay: mend the cause, then use --again\n`)
  if (skippedCut > 0) print(`left out ${skippedCut} that are not whole: they were too large, and were cut (show tells)\n`)
}
