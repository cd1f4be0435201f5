import { row } from '../../harness/table.ts'
import { measurePeers } from './measure.ts'

const ms = (value: number) => value.toFixed(3)

/** Measures Millrace's engine and its peers with the same rules, and prints the table. */
export async function peersTable(say: (line: string) => void): Promise<void> {
  const engines = await measurePeers()
  say('')
  say(row(['the same rules in several engines, ms per transaction', 'median', 'P99', 'median / ours']))
  say(row(['---', '--:', '--:', '--:']))
  for (const { name, median, p99 } of engines) say(row([name, ms(median), ms(p99), (median / engines[0].median).toFixed(0)]))
}
