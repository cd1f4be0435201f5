import { isUtf8 } from 'node:buffer'
import type { DeadLetterRecord } from '../../pipelines/engine/index.ts'

/**
 * Formats a summary of the dead letters of one topology or sink. The first line counts the letters that were not
 * replayed. One line for each combination of their codes and processors follows, and one line for the replayed letters.
 */
export function formatSummary(name: string, letters: readonly DeadLetterRecord[]): string {
  const open = letters.filter((letter) => !letter.replayed)
  const byCode = Map.groupBy(open, (letter) => `${letter.code}${letter.processor === '' ? '' : ` from ${letter.processor}`}`)
  const lines = [...byCode].map(([code, list]) => `  ${plain(code)}: ${list.length}, ${offsetsText(list)}`)
  const replayed = letters.length - open.length
  const rest = replayed === 0 ? '' : `  replayed: ${replayed}\n`
  const letterCount = `${open.length} dead ${open.length === 1 ? 'letter' : 'letters'}`
  return `${name}: ${letterCount}\n${lines.map((line) => `${line}\n`).join('')}${rest}`
}

/** Describes the offsets of dead letters, which must be sorted by offset. */
function offsetsText(letters: readonly DeadLetterRecord[]): string {
  const [first, last] = [letters[0].offset, letters[letters.length - 1].offset]
  return first === last ? `offset ${first}` : `offsets ${first} to ${last}`
}

/** Formats one dead letter with all of its details. */
export function formatDeadLetter(letter: DeadLetterRecord, decode: (value: Buffer) => unknown): string {
  const { source, headers } = letter
  const fields: [string, string][] = [
    ['offset', `${letter.offset}${letter.replayed ? ' (replayed)' : ''}`],
    ['came from', `${plain(source.topic)}-${source.partition} offset ${source.offset}, ${timeText(letter.timestamp)}`],
    ['code', plain(letter.code)],
    ['message', plain(letter.message)],
    [
      'processor',
      letter.processor === '' ? '(none: the record was rejected before a processor ran, or by a sink)' : plain(letter.processor),
    ],
    ...(letter.replays > 0 ? [['replays', `${letter.replays} before it failed again`] as [string, string]] : []),
    ...(letter.cut === undefined
      ? []
      : [['cut', `the record is incomplete; original size in bytes: ${plain(letter.cut)}`] as [string, string]]),
    ['key', bytesText(letter.key)],
    ['value', valueText(letter.value, decode)],
    ...headers.map(({ key, value }): [string, string] => [`header ${plain(key)}`, bytesText(value)]),
  ]
  return fields.map(([name, text]) => `${name}: ${text}\n`).join('')
}

/**
 * Escapes control characters. The data of a record may contain sequences that change what a terminal shows. It may also
 * contain line ends, and the text after a line end would look like another field.
 */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function timeText(timestamp: number): string {
  const date = new Date(timestamp)
  return Number.isNaN(date.getTime()) ? `at ${timestamp}` : date.toISOString()
}

function bytesText(bytes: Buffer | null): string {
  if (bytes === null) return '(none)'
  return isPrintable(bytes) ? plain(JSON.stringify(bytes.toString('utf8'))) : `0x${bytes.toString('hex')}`
}

/**
 * Returns whether bytes are valid UTF-8 without control characters below U+0020, except for tabs and line ends. `plain`
 * escapes all other control characters.
 */
function isPrintable(bytes: Buffer): boolean {
  return isUtf8(bytes) && bytes.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d)
}

function valueText(value: Buffer | null, decode: (value: Buffer) => unknown): string {
  if (value === null) return '(none)'
  try {
    const decoded = decode(value)
    const exact = (_: string, part: unknown) => (typeof part === 'bigint' ? part.toString() : part)
    return decoded === undefined ? bytesText(value) : JSON.stringify(decoded, exact, 2).split('\n').map(plain).join('\n')
  } catch (error) {
    return `${bytesText(value)} (${plain((error as Error).message)})`
  }
}
